"""The package that unmodified scripts import as `ais_bench`."""
