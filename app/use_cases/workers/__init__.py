"""Register workers, read what is known about them, and block them."""
