"""Pure decisions: numbers in, numbers and reasons out. No clock, no chance, no I/O."""
