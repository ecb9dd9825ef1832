"""Charts of plans, replays and experiments, as SVG or PNG."""
