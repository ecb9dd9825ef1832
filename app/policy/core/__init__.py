"""What all policies build on: states, beliefs, lookaheads, ballots, decisions."""
