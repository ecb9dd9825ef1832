"""Whether a problem is one for the crowd, over HTTP."""
