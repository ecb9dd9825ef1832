"""Plans: what a job will cost and reach, before any money is spent, and whether a running job keeps its promise."""
