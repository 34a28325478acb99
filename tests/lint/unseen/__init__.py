"""Cases that the linter was not developed on, and the measurement of its recall and precision on them."""
