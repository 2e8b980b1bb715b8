"""Collectives as lists of transfers: algorithm and topology in, steps out. Knows no runtime, no stream, no clock."""
