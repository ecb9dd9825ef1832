"""The hot path: requests for work and answers, from the batch to the decision."""
