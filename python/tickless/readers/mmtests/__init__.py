"""MMTests result directories of three eras, as `Results` per benchmark."""

from __future__ import annotations

from tickless.readers.mmtests.tree import read_mmtests

__all__ = ["read_mmtests"]
