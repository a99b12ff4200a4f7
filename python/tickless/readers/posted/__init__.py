"""Comparison tables as people post them: both house styles, quoted in mail or not."""

from __future__ import annotations

from tickless.readers.posted.comparison import read_comparison

__all__ = ["read_comparison"]
