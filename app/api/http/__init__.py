"""What all endpoints share: routes, problems, cursors, limits, documentation."""
