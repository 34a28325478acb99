"""Read the files of a checkpoint, wherever they are."""
