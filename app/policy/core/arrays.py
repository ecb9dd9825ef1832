"""The array types of the arithmetic, defined once for all modules."""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Index = npt.NDArray[np.intp]  # positions in another array, e.g. the class of each answer
Mask = npt.NDArray[np.bool_]
