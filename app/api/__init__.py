"""HTTP: parse the request, call a use case, send the response."""
