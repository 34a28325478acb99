"""The highest rate that each execution mode sustains, and the latency below it."""
