"""Process-side objects: threads, contexts, streams, events, memory, models. Above the driver's door, below the facade."""
