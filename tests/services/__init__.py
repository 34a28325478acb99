"""Tests of the local services: real processes, real servers."""
