"""The simulated chip: what is busy when. Tasks on streams, engines, memory; knows no process, no model, no recorder."""
