"""Studies: what is run, what is shown of it."""
