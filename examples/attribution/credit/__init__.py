"""The credit rule, which divides the value of an order among the ads that its user saw or clicked."""
