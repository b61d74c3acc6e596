"""The arm behind the graph: its files, its switch, its checks, its stand-in, and its signs of life."""
