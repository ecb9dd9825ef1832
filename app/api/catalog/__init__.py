"""The catalog of policies over HTTP."""
