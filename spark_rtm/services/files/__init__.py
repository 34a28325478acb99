"""Temporary files of a run, and verification of downloaded jars."""
