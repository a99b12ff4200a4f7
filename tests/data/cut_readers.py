"""Cut the readers' test data from the full golden sets; runs none of the package's code.

Usage: python tests/data/cut_readers.py SHARED_DATA

Kept: the example inputs 18 to 20, the small MMTests trees of ``edge``, and of the three main
trees two kernels each, with the samples the reference tool extracted from them.
"""

from __future__ import annotations

import csv
import io
import lzma
import shutil
import sys
import tarfile
from pathlib import Path

INPUTS = ("18-raw-hackbench", "19-raw-schbench-tbench", "20-mmtests-tree")
KERNELS = {
    "2018": ("4.18.0-vanilla", "4.18.0-teo-v2+backport"),
    "2023": ("6.5.0-base", "6.5.0-eevdf"),
    "head": ("6.12.0-vanilla", "6.13-rc5-teo-util"),
}


def main(shared: Path) -> None:
    """Write ``tests/data/readers`` anew."""
    out = Path(__file__).parent / "readers"
    shutil.rmtree(out, ignore_errors=True)
    for name in INPUTS:
        shutil.copytree(shared / "inputs" / name, out / "inputs" / name, copy_function=shutil.copy)
    for tree in sorted((shared / "mmtests" / "edge").glob("*/*")):
        cut(tree, out / "mmtests" / f"edge-{tree.parent.name}-{tree.name}", None)
    for era, kernels in KERNELS.items():
        cut(shared / "mmtests" / era, out / "mmtests" / era, kernels)


def cut(source: Path, target: Path, kernels: tuple[str, ...] | None) -> None:
    """Copy a tree and its extracted samples, of some kernels only."""
    target.mkdir(parents=True)
    with (
        tarfile.open(source / "input.tar.xz") as full,
        tarfile.open(target / "input.tar.xz", "w:xz", preset=9) as small,
    ):
        for member in full:
            parts = member.name.split("/")
            mine = kernels is None or any(
                p == k or p.endswith(f"-{k}") for p in parts[1:2] for k in kernels
            )
            if member.isfile() and mine:
                small.addfile(member, full.extractfile(member))
    rows = list(csv.reader((source / "values.csv").read_text().splitlines()))
    kept = [r for r in rows[1:] if kernels is None or r[1] in kernels]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([rows[0], *kept])
    (target / "values.csv.xz").write_bytes(lzma.compress(text.getvalue().encode(), preset=9))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
