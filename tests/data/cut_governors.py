"""Cut the first periods of every golden governor file for the test suite.

Usage: python tests/data/cut_governors.py ../shared/data/governors

Copies; runs nothing of the package.
"""

import sys
from pathlib import Path

import numpy as np

PERIODS = 2000  # all six files together stay below 450 kB


def cut(source: Path, target: Path) -> None:
    with np.load(source, allow_pickle=False) as golden:
        n = len(golden["wake"])
        arrays = {k: v[:PERIODS] if v.shape == (n,) else v for k, v in golden.items()}
    np.savez_compressed(target, **arrays)


if __name__ == "__main__":
    folder = Path(__file__).parent / "governors"
    folder.mkdir(exist_ok=True)
    for source in sorted(Path(sys.argv[1]).glob("*.npz")):
        cut(source, folder / source.name)
