"""Whether the service is alive and ready, over HTTP."""
