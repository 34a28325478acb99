"""Tests of the sink: a real server, real sockets, and the naive design beside it."""
