"""The live view: what is drawn of arms, surfaces and forces, from plain data; the browser side needs viser."""

PORT, HOST = 8080, "127.0.0.1"
"""Port and address of the page, by default."""
