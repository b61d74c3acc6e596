"""A running graph: its nodes, their start, clients, security, and their end."""
