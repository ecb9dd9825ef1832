"""What can be computed before any money is spent: strategies, expected accuracy and cost, quotas and error bounds."""
