"""Health checks over HTTP."""
