"""Exports of a Trace, one file per format; profiler.export.msprof.export_msprof writes the layout of the real profiler."""
