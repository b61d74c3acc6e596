"""Random tasks of the operating envelope: drawn, run, judged, counted, drawn as pictures."""
