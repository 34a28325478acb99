"""Tests of the PostgreSQL sink: a real server, real sockets, and a naive sink for comparison."""
