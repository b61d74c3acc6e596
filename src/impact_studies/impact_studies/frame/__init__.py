"""Studies: their declaration, their run on one or several machines, and their results."""
