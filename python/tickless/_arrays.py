"""Arguments of the public calls, turned into arrays the core takes without a copy.

One rule for all: integers stay integers. A float array is refused even when its values are whole,
because seconds with nine decimals do not fit a double and the mistake would be silent.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tickless.errors import InvalidParameterError, InvalidTypeError, ShapeError

T = TypeVar("T")


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
        For a value outside the range of `dtype`, or one that is masked, with its index.
    ShapeError
        For more than one dimension, or rows of unequal length.
    """
    array = unmasked(name, value)
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


def unmasked(name: str, value: Any) -> NDArray[Any]:
    """Return `value` as an array that lacks no value.

    Raises
    ------
    InvalidParameterError
        If a value is masked, with its index.
    ShapeError
        If rows are of unequal length.
    """
    mask = np.ma.getmask(value)
    if np.any(mask):
        at = ", ".join(str(i[0]) for i in np.nonzero(np.atleast_1d(mask)))
        raise InvalidParameterError(f"{name}[{at}]: masked; fill in a value or leave it out")
    try:
        return np.asarray(value)
    except ValueError as e:
        raise ShapeError(f"{name}: not an array: {e}") from None


def integer(name: str, value: Any) -> int:
    """Return ``value`` as an integer of 64 bits.

    Raises
    ------
    InvalidTypeError
        For anything but an integer, ``bool`` included.
    InvalidParameterError
        If it does not fit 64 bits.
    """
    if isinstance(value, (bool, np.bool_)):
        raise InvalidTypeError(f"{name}: expected an integer, found {value!r}")
    try:
        number = operator.index(value)
    except TypeError:
        kind = type(value).__name__
        raise InvalidTypeError(f"{name}: expected an integer, found {kind} {value!r:.80}") from None
    if not -(2**63) <= number < 2**63:
        raise InvalidParameterError(f"{name}: {number} does not fit 64 bits")
    return number


def real(name: str, value: Any) -> float:
    """Return ``value`` as a float; NaN and infinity pass.

    Raises
    ------
    InvalidTypeError
        For anything but a number: texts are not parsed.
    """
    if not isinstance(value, (str, bytes)):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            pass
    raise InvalidTypeError(f"{name}: expected a number, found {value!r:.80}")


def flag(name: str, value: Any) -> bool:
    """Return ``value`` as a bool.

    Raises
    ------
    InvalidTypeError
        For anything but True and False.
    """
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise InvalidTypeError(f"{name}: expected True or False, found {value!r:.80}")


def text(name: str, value: Any) -> str:
    """Return ``value``, a text that can be written as UTF-8.

    Raises
    ------
    InvalidTypeError
        For anything but a `str`.
    InvalidParameterError
        For a text with surrogates: a name of bytes that are not UTF-8.
    """
    if not isinstance(value, str):
        raise InvalidTypeError(f"{name}: expected a text, found {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidParameterError(f"{name}: {value!a} cannot be written as UTF-8") from None
    return value


def named(name: str, value: Any, kind: type[T], expected: str) -> T | str:
    """Return ``value``, an object of `kind` or a text that names one; `expected` says so.

    Raises
    ------
    InvalidTypeError
        For anything else.
    InvalidParameterError
        As `text`.
    """
    if isinstance(value, kind):
        return value
    if not isinstance(value, str):
        raise InvalidTypeError(f"{name}: expected {expected}, found {type(value).__name__}")
    return text(name, value)


def texts(name: str, values: Any) -> tuple[str, ...]:
    """Return ``values`` as a tuple of `text`.

    Raises
    ------
    InvalidTypeError
        For anything but an iterable of texts; one text is none.
    InvalidParameterError
        As `text`.
    """
    try:
        if isinstance(values, str | bytes):
            raise TypeError
        found = tuple(values)
    except TypeError:
        kind = type(values).__name__
        raise InvalidTypeError(f"{name}: expected a list of texts, found {kind}") from None
    return tuple(text(f"{name}[{i}]", value) for i, value in enumerate(found))


def several(name: str, values: Any) -> tuple[str, ...]:
    """Return one text, or an iterable of them, as a tuple; errors are those of `texts`."""
    return (text(name, values),) if isinstance(values, str) else texts(name, values)


def changed(changes: Any, more: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a `replace` is to change: a mapping or None, and keywords.

    Raises
    ------
    InvalidTypeError
        For anything but a mapping of texts.
    """
    if changes is None:
        return dict(more)
    if not isinstance(changes, Mapping):
        kind = type(changes).__name__
        raise InvalidTypeError(
            f'changes: expected a mapping such as {{"name": value}}, found {kind} {changes!r:.80}'
        )
    return {text("changes", name): value for name, value in changes.items()} | dict(more)


def place(name: str, value: Any) -> Path:
    """Return ``value``, a text or path object, as a path.

    Raises
    ------
    InvalidTypeError
        For anything else.
    InvalidParameterError
        For a null character, which no file name has.
    """
    if not isinstance(value, str | os.PathLike):
        kind = type(value).__name__
        raise InvalidTypeError(f"{name}: expected a path, found {kind} {value!r:.80}")
    found = os.fspath(value)
    if not isinstance(found, str):
        raise InvalidTypeError(f"{name}: expected a path of text, found one of bytes; os.fsdecode")
    if not found:
        raise InvalidParameterError(f"{name}: an empty text is no path")
    if "\0" in found:
        raise InvalidParameterError(f"{name}: {found!r:.80} has a null character; no file has")
    return Path(found)
