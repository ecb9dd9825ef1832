"""Let numbers that are equal on paper be equal in floats."""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

DECIMALS = 12


def significant(numbers: Array) -> Array:
    """Rounded to twelve significant digits, whatever their size.

    >>> significant(np.array([0.1 + 0.2, 1e-15 / 3, 0.0, -2.5])).tolist()
    [0.3, 3.33333333333e-16, 0.0, -2.5]
    """
    size = np.floor(np.log10(np.where(numbers == 0, 1.0, np.abs(numbers))))
    scale = 10.0 ** (DECIMALS - 1 - size)
    return np.asarray(np.round(numbers * scale) / scale)
