"""Tests of the site: built once, read as files, and looked at in a browser as a person would."""
