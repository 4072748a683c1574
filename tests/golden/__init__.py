"""Golden files: what the code answered before it was rewritten."""
