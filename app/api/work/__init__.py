"""Work for workers over HTTP: ask for assignments, change them, send answers."""
