"""The cheapest requirement for an accuracy, over HTTP."""
