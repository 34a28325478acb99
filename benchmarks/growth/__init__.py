"""Measure how a query's cost grows: runs that vary one input at a time, and a cost model fitted to these runs."""
