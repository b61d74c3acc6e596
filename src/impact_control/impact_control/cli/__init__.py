"""The command `impact-control`; other packages add their commands through entry points."""
