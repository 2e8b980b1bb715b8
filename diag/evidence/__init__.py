"""Evidence from elsewhere, recognised by its content and read into one record (`diag.seen.Seen`)."""
