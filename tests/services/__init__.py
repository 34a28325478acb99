"""Tests of the local services, with real processes and real servers."""
