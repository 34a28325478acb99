"""Tests of the site: it is built once, checked as files, and used in a browser."""
