"""Install the packages of the other engines."""
