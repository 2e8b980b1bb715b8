"""Samples of a device that follow from what a capture holds: memory, links, load. One module a subject, a list in `sampler`."""
