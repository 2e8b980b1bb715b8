"""Graph passes, one a file. Their order stands in registry."""
