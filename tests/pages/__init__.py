"""Tests of the pages: what they say runs, is refused or is found as they say."""
