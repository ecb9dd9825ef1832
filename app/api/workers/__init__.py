"""Workers over HTTP."""
