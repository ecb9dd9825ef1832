"""Add items and read them."""
