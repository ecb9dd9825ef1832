"""Long work on a job over HTTP: refits, forecasts and replays."""
