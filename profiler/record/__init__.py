"""The recorder: fixed-size records into memory-mapped segment files, texts into an append-only table. No numpy here."""
