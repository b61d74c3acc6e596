"""Array types of the public interfaces."""

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
"""One-dimensional array of float64; the docstrings state its length and units."""

Matrix = NDArray[np.float64]
"""Two-dimensional array of float64; the docstrings state its shape and units."""

Records = NDArray[np.record]
"""Array of records; the docstrings name the type of the record, see `compiled.record_type`."""
