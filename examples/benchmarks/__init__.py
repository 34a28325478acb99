"""Measurements that anybody can repeat; each module prints the conditions with its numbers."""
