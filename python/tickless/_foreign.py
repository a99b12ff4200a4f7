"""Governors of one's own on their way to the core: objects, and C functions."""

from __future__ import annotations

import ctypes
from typing import Any

from tickless.errors import InvalidTypeError

_C_FUNCTION: Any = ctypes.CFUNCTYPE(None).__mro__[1]
"""What every ctypes function pointer derives from; ctypes does not name it publicly."""

_INT64 = (ctypes.c_int64, ctypes.c_longlong, ctypes.c_uint64, ctypes.c_ulonglong)
"""What C calls 64-bit integers, under any of their names."""

SIGNATURE = "int64(int64*, int64*, int64*)"
"""Of a governor in C, in numba's words; see the manual's page on replay."""


def as_core(governor: Any) -> Any:
    """Return what the border takes: a name, ("cfunc", address), or the object itself.

    Raises
    ------
    InvalidTypeError
        For anything that is no governor, and for a C function known to have another signature.
    """
    if isinstance(governor, str):
        return governor
    address = getattr(governor, "address", None)  # numba cfunc
    if isinstance(governor, _C_FUNCTION):
        _check_ctypes(governor)
        address = ctypes.cast(governor, ctypes.c_void_p).value
    elif isinstance(address, int):
        _check_numba(governor)
    if isinstance(address, int):
        return ("cfunc", address)
    if callable(getattr(governor, "select", None)) and callable(getattr(governor, "reflect", None)):
        return governor
    raise InvalidTypeError(
        "governors: expected a registered name, an object with select(ctx) and "
        f"reflect(ctx, outcome), or a C function pointer, found {type(governor).__name__}"
    )


def _check_numba(function: Any) -> None:
    """Compare the types a numba ``cfunc`` was compiled for; other objects with an address pass."""
    signature = getattr(function, "_sig", None)
    if signature is None:
        return
    found = f"{signature.return_type}({', '.join(map(str, signature.args))})"
    if found != SIGNATURE:
        raise _another(found)


def _check_ctypes(function: Any) -> None:
    """Compare the types of a ctypes function; a library's function without any passes."""
    if function.argtypes is None:
        return
    given = tuple(function.argtypes)
    if len(given) != 3 or not all(map(_points, given)) or function.restype not in _INT64:
        result = getattr(function.restype, "__name__", function.restype)
        raise _another(f"{result}({', '.join(t.__name__ for t in given)})")


def _points(argument: Any) -> bool:
    """Tell whether an argument is a pointer to 64-bit integers, or to anything."""
    pointed = getattr(argument, "_type_", None)
    return argument is ctypes.c_void_p or pointed in _INT64


def _another(found: str) -> InvalidTypeError:
    return InvalidTypeError(
        f"governors: expected a C function {SIGNATURE} (memory, context, table), found {found}"
    )
