"""What accuracy costs, over HTTP."""
