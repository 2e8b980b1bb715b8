"""Checks of a host, one subject a module; the ordered list of them stands in `diag.check`."""
