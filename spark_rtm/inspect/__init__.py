"""
Read the checkpoint of a streaming query without changing it.

`mode` says which mode wrote it, `next_mode` which mode may continue it, and `findings` what is wrong with it.
"""
