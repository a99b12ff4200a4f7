"""Random streams of many runs from one ``rng`` argument (SPEC 7)."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.random import BitGenerator, Generator, SeedSequence
from numpy.typing import NDArray

from tickless.errors import InvalidParameterError, InvalidTypeError


def seed_sequence(rng: Any) -> SeedSequence:
    """Return the seed that all runs of a call descend from.

    Parameters
    ----------
    rng : None, int, sequence of int, SeedSequence, BitGenerator or Generator
        None takes fresh entropy. An integer or a `SeedSequence` gives the same runs each time; a
        generator is spawned from, so that the next call with it gives others.

    Raises
    ------
    InvalidParameterError
        For a negative integer.
    InvalidTypeError
        For anything else.
    """
    if isinstance(rng, SeedSequence):
        return rng
    if isinstance(rng, Generator):
        rng = rng.bit_generator
    if isinstance(rng, BitGenerator):
        source = rng.seed_seq
        if isinstance(source, SeedSequence):
            return source.spawn(1)[0]
        return SeedSequence(Generator(rng).integers(2**63, size=4).tolist())  # a legacy seed
    if rng is None:
        return SeedSequence()
    words = [_word(w) for w in rng] if isinstance(rng, (list, tuple, np.ndarray)) else _word(rng)
    return SeedSequence(words)


def _word(value: Any) -> int:
    if not isinstance(value, (bool, np.bool_)):
        try:
            word = operator.index(value)
        except TypeError:
            pass
        else:
            if word < 0:
                raise InvalidParameterError(f"rng: expected an integer of at least 0, found {word}")
            return word
    raise InvalidTypeError(
        "rng: expected None, an integer, a SeedSequence, a BitGenerator or a Generator, found "
        f"{value!r:.80}"
    )


def entropy(source: SeedSequence, shape: tuple[int, int, int], common: bool) -> NDArray[np.uint64]:
    """Return the entropy of every run.

    Run (kernel, case, repeat) has the stream of
    ``source.spawn(...)[kernel].spawn(...)[case].spawn(...)[repeat]``: more kernels, cases or
    repeats at the end change none that were there.

    Parameters
    ----------
    source : SeedSequence
    shape : (n_kernels, n_cases, n_repeats)
    common : bool
        Every kernel gets the streams of the first.

    Returns
    -------
    ndarray of uint64, (n_kernels * n_cases * n_repeats, 4)
    """
    words = np.empty((np.prod(shape), 4), np.uint64)
    for row, (k, c, r) in enumerate(np.ndindex(shape)):
        key = (*source.spawn_key, 0 if common else k, c, r)
        child = SeedSequence(source.entropy, spawn_key=key, pool_size=source.pool_size)
        words[row] = child.generate_state(4, np.uint64)
    return words
