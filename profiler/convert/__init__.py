"""Files made of profiles: several merged into one, a range cut out, another form; and a Trace as tables for SQL and CSV."""
