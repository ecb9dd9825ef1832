"""Repeatable random numbers that depend on the seed, the item and the round alone."""

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from app.policy.core.arrays import Array, IntArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_SEED_STEP = np.uint64(0xD1342543DE82EF95)


def scramble(seed: int, *positions: IntArray) -> npt.NDArray[np.uint64]:
    """SplitMix64 (Steele et al., OOPSLA 2014) over seed and positions: stateless, so any subset gets the same numbers.

    >>> bool((scramble(7, np.arange(3)) == scramble(7, np.arange(5))[:3]).all())
    True
    """
    with np.errstate(over="ignore"):
        z = np.full(np.shape(positions[0]), seed, dtype=np.uint64) * _SEED_STEP
        for position in positions:
            z = (z + position.astype(np.uint64)) * _GOLDEN
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z = z ^ (z >> np.uint64(31))
    return np.asarray(z)


def number_of(name: str) -> int:
    """A fixed number for a name, from which random draws are made: 63 bits of its hash, equal on every machine.

    >>> number_of("w1") == number_of("w1") != number_of("w2")
    True
    """
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest()) >> 1


def uniform(seed: int, *positions: IntArray) -> Array:
    """Uniform in [0, 1), 53 bits.

    >>> bool(abs(uniform(1, np.arange(100_000)).mean() - 0.5) < 0.005)
    True
    """
    return np.asarray((scramble(seed, *positions) >> np.uint64(11)) * 2.0**-53)
