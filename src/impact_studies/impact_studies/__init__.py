"""Results of the sources, computed again: `impact-control study NAME`.

`frame` runs them and reports, `catalogue` has a module for each, `models` what only they use.
"""
