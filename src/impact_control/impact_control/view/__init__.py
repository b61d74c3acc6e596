"""The live view: what is drawn of arms, surfaces and forces, from plain data; the browser side needs viser."""
