"""
Read the checkpoint of a streaming query without changing it.

`mode` finds the execution mode that wrote the checkpoint. `next_mode` finds the modes in which a query can resume from
the checkpoint. `findings` reports problems.
"""
