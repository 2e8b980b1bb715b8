"""Settings of all tests: hypothesis without deadlines, because a shared machine can hold any single example up."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("shared machine", deadline=None)
settings.load_profile("shared machine")
