"""How the cost of a query grows: one input varied at a time, and a cost model fitted to the runs."""
