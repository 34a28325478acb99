"""Read the files of a checkpoint, in a local folder or an object store."""
