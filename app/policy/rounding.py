"""Let numbers that are equal on paper be equal in floats."""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

DECIMALS = 12
_MOST_DECIMALS = 300  # ten to this power is still a float


def significant(numbers: Array) -> Array:
    """Rounded to twelve significant digits, whatever their size, or to 300 decimals where those are fewer.

    >>> significant(np.array([0.1 + 0.2, 1e-15 / 3, 0.0, -2.5, -np.inf])).tolist()
    [0.3, 3.33333333333e-16, 0.0, -2.5, -inf]
    >>> significant(np.array([1e-295 / 3, 1e-310])).tolist()
    [3.3333e-296, 0.0]
    """
    size = np.floor(np.log10(np.where((numbers == 0) | np.isinf(numbers), 1.0, np.abs(numbers))))
    scale = 10.0 ** np.minimum(DECIMALS - 1 - size, _MOST_DECIMALS)
    return np.asarray(np.round(numbers * scale) / scale)
