"""Synthetic and recorded crowds, and jobs in memory: the decisions of the service without its database."""
