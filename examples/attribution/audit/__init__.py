"""Check a run: read back every record, replay the rules over the sources, and compare."""
