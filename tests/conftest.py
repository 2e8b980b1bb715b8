"""Settings of all tests: hypothesis without deadlines, because a shared machine can hold any single example up; refusals that
tests provoke in their own process are logged into a folder of the run, not into the home of who runs it."""

from __future__ import annotations

import os
import tempfile

from hypothesis import settings

settings.register_profile("shared machine", deadline=None, max_examples=60)
settings.load_profile("shared machine")

_logs = tempfile.TemporaryDirectory(prefix="npuscope-test-logs-")
os.environ["ASCEND_PROCESS_LOG_PATH"] = _logs.name
