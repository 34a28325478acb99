"""The credit rule, which divides the value of an order among the ads that the buyer saw or clicked before."""
