"""The folder for the temporary files of a run, and the verification of downloaded jars."""
