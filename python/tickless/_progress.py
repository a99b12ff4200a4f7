"""The ``progress`` argument of long calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tickless._extras import wanted
from tickless.errors import InvalidTypeError


class Progress:
    """Context of one long call: a tqdm bar, the caller's function, or nothing.

    Parameters
    ----------
    wish : bool, callable or None
        True shows a bar; a callable gets the amount done so far.
    unit : str
        What is counted.
    total : int, optional
        The amount at the end, if it is known.

    Raises
    ------
    InvalidTypeError
        For any other `wish`.
    """

    def __init__(
        self, wish: bool | Callable[[int], object] | None, unit: str, total: int | None = None
    ) -> None:
        if wish is not None and not isinstance(wish, bool) and not callable(wish):
            raise InvalidTypeError(
                f"progress: expected True, False or a callable, found {type(wish).__name__}"
            )
        self._bar: Any = None
        self._call = wish if callable(wish) else None
        if wish is True:
            with wanted():
                from tqdm.auto import tqdm

            self._bar = tqdm(total=total, unit=unit, unit_scale=True)

    def __enter__(self) -> Callable[[int], object] | None:
        return self._call if self._bar is None else self._advance

    def _advance(self, done: int) -> None:
        self._bar.update(done - self._bar.n)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
