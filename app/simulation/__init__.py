"""Simulate jobs with the engine of the service and without its database: replays, simulated crowds, forecasts."""
