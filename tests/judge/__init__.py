"""Tests of the judge: what it reads, writes, checks and copies."""
