"""Read checkpoint files from a local folder or an object store."""
