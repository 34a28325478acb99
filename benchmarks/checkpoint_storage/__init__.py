"""
The pause at the batch boundary by the storage of the checkpoints.

Needs about 35 MB of jars, which only this benchmark downloads.
"""
