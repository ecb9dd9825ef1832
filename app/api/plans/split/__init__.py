"""How to split a budget between items of different cost, over HTTP."""
