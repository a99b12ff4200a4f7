"""Tables of events: equally long columns, one row per event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tickless import _html
from tickless._arrays import freeze
from tickless.errors import InvalidTypeError, unknown_name

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 10
"""Rows that a table shows of itself."""


@dataclass(frozen=True, eq=False)
class Words:
    """A column of words, kept as numbers into a list that several columns share.

    Attributes
    ----------
    codes : ndarray of unsigned int, (n,)
    words : tuple of str
        Word of every code.
    """

    codes: NDArray[Any]
    words: tuple[str, ...]

    def texts(self) -> NDArray[np.object_]:
        """Return the words themselves, (n,) objects; equal words are one object."""
        table = np.array(self.words, dtype=object) if self.words else np.empty(0, object)
        return freeze(table[self.codes])


Column = NDArray[Any] | Words


class EventTable:
    """Columns of one kind of event; frozen.

    A column is an attribute (``table.cpu``) or an item (``table["cpu"]``); a slice, mask or array
    of indices gives some of the rows; iteration gives rows as tuples, None where a value is
    unknown.

    Parameters
    ----------
    columns : mapping of str to ndarray or Words
        Equally long columns.

    Examples
    --------
    >>> t = EventTable({"time_ns": np.array([5, 9]), "cpu": np.array([0, 1])})
    >>> len(t), t.cpu.tolist(), t.tolist()
    (2, [0, 1], [(5, 0), (9, 1)])
    """

    __slots__ = ("_columns",)

    _columns: dict[str, Column]

    def __init__(self, columns: Mapping[str, Column]) -> None:
        kept = {n: c if isinstance(c, Words) else freeze(c) for n, c in columns.items()}
        object.__setattr__(self, "_columns", kept)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("tables of events are frozen")

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._columns)

    def __len__(self) -> int:
        first = next(iter(self._columns.values()), ())
        return len(first.codes) if isinstance(first, Words) else len(first)

    def __getattr__(self, name: str) -> NDArray[Any]:
        if name.startswith("_") or name not in self._columns:
            raise AttributeError(f"this table has no column {name!r}; it has {list(self.columns)}")
        column = self._columns[name]
        return column.texts() if isinstance(column, Words) else column

    def __getitem__(self, key: Any) -> Any:
        """Return a column by name, or some of the rows."""
        if isinstance(key, str):
            if key not in self._columns:
                raise unknown_name("column", key, self._columns)
            return getattr(self, key)
        index = key if isinstance(key, slice) else np.asarray(key)
        if not isinstance(index, slice) and (index.ndim != 1 or index.dtype.kind not in "biu"):
            raise InvalidTypeError(
                "index: expected a column name, a slice, a mask or an array of integers"
            )
        return EventTable(
            {
                name: Words(c.codes[index], c.words) if isinstance(c, Words) else c[index]
                for name, c in self._columns.items()
            }
        )

    def __dir__(self) -> Sequence[str]:
        return [*super().__dir__(), *self._columns]

    def __reduce__(self) -> Any:
        return EventTable, (self._columns,)

    def tolist(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples of Python numbers and strings; None = unknown."""
        return list(zip(*(getattr(self, n).tolist() for n in self._columns), strict=True))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.tolist())

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a DataFrame; words as categories, unknown values as NA."""
        import pandas as pd

        def series(column: Column) -> Any:
            if isinstance(column, Words):
                used, codes = np.unique(column.codes, return_inverse=True)
                # Damaged bytes can turn two names into the same text.
                texts, merged = np.unique([column.words[i] for i in used], return_inverse=True)
                codes = merged[codes] if len(used) else codes
                return pd.Categorical.from_codes(codes, texts.tolist())
            if isinstance(column, np.ma.MaskedArray):
                mask = np.ma.getmaskarray(column)
                return (
                    pd.array(np.where(mask, 0, column.data), dtype="Int64").copy()
                    if not (mask.any())
                    else pd.arrays.IntegerArray(column.data.copy(), mask.copy())
                )
            return column

        return pd.DataFrame({name: series(c) for name, c in self._columns.items()})

    def _cells(self) -> list[list[str]]:
        rows = self[:SHOWN].tolist()
        return [["" if v is None else str(v) for v in row] for row in rows]

    def __repr__(self) -> str:
        cells = [list(self.columns), *self._cells()]
        widths = [max(len(r[j]) for r in cells) for j in range(len(self.columns))]
        lines = ["  ".join(c.rjust(w) for c, w in zip(r, widths, strict=True)) for r in cells]
        more = len(self) - SHOWN
        return "\n".join([*lines, *([f"... {more} more rows"] if more > 0 else [])])

    def _repr_html_(self) -> str:
        more = len(self) - SHOWN
        notes = [f"{more} more rows"] if more > 0 else []
        return _html.table(self.columns, self._cells(), left=(), notes=notes)
