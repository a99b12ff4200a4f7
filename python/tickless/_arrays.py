"""Arguments of the public calls, turned into arrays the core takes without a copy.

One rule for all: integers stay integers. A float array is refused even when its values are whole,
because seconds with nine decimals do not fit a double and the mistake would be silent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tickless.errors import InvalidParameterError, InvalidTypeError, ShapeError


def integers(name: str, value: Any, dtype: Any = np.int64) -> NDArray[Any] | int:
    """Return `value` as a contiguous 1-D array of `dtype`, or as an int if it is a scalar.

    Parameters
    ----------
    name : str
        The argument as the caller spells it, for messages.
    value : array_like of int or int
        Boolean arrays are accepted as 0 and 1.
    dtype : dtype
        Integer type of the result; values outside its range are refused.

    Returns
    -------
    ndarray or int

    Raises
    ------
    InvalidTypeError
        For floats, strings, objects.
    InvalidParameterError
        For a value outside the range of `dtype`, with its index.
    ShapeError
        For more than one dimension.
    """
    array = np.asarray(value)
    if array.size == 0:
        array = array.astype(dtype)  # an empty list has no type of its own
    if array.dtype.kind not in "iub":
        raise InvalidTypeError(
            f"{name}: expected integers ({np.dtype(dtype).name}), found {array.dtype.name}; "
            "times are whole nanoseconds, convert explicitly"
        )
    if array.ndim > 1:
        raise ShapeError(f"{name}: expected one dimension, found shape {array.shape}")
    limits = np.iinfo(dtype)
    if array.dtype.kind != "b" and array.size and not np.can_cast(array.dtype, dtype):
        bad = (array < limits.min) | (array > limits.max)
        if bad.any():
            at = int(np.argmax(bad)) if array.ndim else None
            place = name if at is None else f"{name}[{at}]"
            raise InvalidParameterError(
                f"{place}: {array.reshape(-1)[at or 0]} does not fit {np.dtype(dtype).name}"
            )
    if array.ndim == 0:
        return int(array)
    return np.ascontiguousarray(array, dtype=dtype)


def freeze(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of `array`; the caller's own array stays writable."""
    view = array.view()
    view.flags.writeable = False
    return view
