"""Credit: how the value of an order is divided among the ads that its user saw or clicked."""
