"""Check Python source by following its paths without running it."""
