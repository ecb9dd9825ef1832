"""What keeps a job's answers good: gold, spammers, and refits of all answers."""
