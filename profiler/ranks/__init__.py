"""Profiles of several ranks, each read and judged on its own, in parallel: see job.judged."""
