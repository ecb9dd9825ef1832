"""Forecasts of jobs that are not created yet, over HTTP."""
