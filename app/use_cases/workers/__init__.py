"""Register workers, read what is known of them, and block them."""
