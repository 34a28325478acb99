"""
Read the checkpoint of a streaming query without changing it.

`mode` finds the execution mode that wrote the checkpoint, `next_mode` the modes that may continue it, and `findings`
its problems.
"""
