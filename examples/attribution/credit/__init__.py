"""Credit: how the value of a conversion is shared among the ads that its user saw."""
