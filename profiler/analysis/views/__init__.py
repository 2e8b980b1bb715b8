"""The views: one small module each, pure functions from a trace (and what was joined of it) to plain records or columns."""
