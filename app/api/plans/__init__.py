"""Plans over HTTP: what a job will cost and how sure it can be, before any money is spent."""
