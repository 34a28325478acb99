"""Tests of pack/tables/pipeline."""
