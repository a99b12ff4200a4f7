"""Cut the MMTests reference sets down to what a plain clone tests.

Usage: ``python tests/data/cut_mmtests.py [SHARED/data/mmtests]``. Files are copied unchanged; only
whole benchmarks are left out. Nothing of the package is imported.
"""

from __future__ import annotations

import io
import shutil
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FULL = HERE.parents[1].parent / "shared" / "data" / "mmtests"

KEEP = {
    "2018": {
        "hackbench-process-pipes": (),
        "sockperf-udp-throughput": (),
        "schbench": (),
        "stream": (),
        "pipetest": (),
        "gitsource": (),
        "unixbench-syscall": (),
        "dbench4": (),
    },
    "2023": {
        "unixbench-syscall": (),
        "stream": (),
        "sqlite": (),
        "kernbench": (".ratio",),
        "tbench4": (),
    },
    "head": {
        "stream": (),
        "tbench": (".loadfile", ".op.ratio", ".tput.ratio"),
        "perfpipe": (),
        "kernbench": (".ratio",),
    },
    "edge/2018/missing": {"sockperf-udp-throughput": ()},
    "edge/2018/names": {"sockperf-udp-throughput": ()},
    "edge/2018/noisy": {"sockperf-udp-throughput": ()},
    "edge/2018/single": {"sockperf-udp-throughput": ()},
    "edge/2018/zerovar": {"sockperf-udp-throughput": ()},
    "edge/head/missing": {"stream": ()},
    "edge/head/names": {"stream": ()},
    "edge/head/noisy": {"stream": ()},
    "edge/head/zerovar": {"hackbench-process-pipes": (".ratio", ".significance")},
}
"""Set to benchmarks, each with the endings of the expected files to keep; none for all."""


def main(full: Path) -> None:
    """Write ``tests/data/mmtests``."""
    out = HERE / "mmtests"
    shutil.rmtree(out, ignore_errors=True)
    for name, benchmarks in KEEP.items():
        era = "2018" if "2018" in name else "new"
        (out / name / "expected").mkdir(parents=True)
        _tree(full / name / "input.tar.xz", out / name / "input.tar.xz", set(benchmarks), era)
        _texts(full / name / "expected", out / name / "expected", benchmarks)


def _tree(source: Path, target: Path, benchmarks: set[str], era: str) -> None:
    with tarfile.open(source) as old, tarfile.open(target, "w:xz", preset=9) as new:
        for member in sorted(old.getmembers(), key=lambda m: m.name):
            parts = member.name.split("/")
            if not member.isfile() or not _kept(parts, benchmarks, era):
                continue
            info = tarfile.TarInfo(member.name)
            info.size, info.mtime, info.mode = member.size, 0, 0o644
            data = old.extractfile(member)
            assert data is not None
            new.addfile(info, io.BytesIO(data.read()))


def _kept(parts: list[str], benchmarks: set[str], era: str) -> bool:
    if era == "2018":
        return any(parts[1].startswith(f"{b}-") for b in benchmarks)
    return len(parts) > 3 and parts[3] in benchmarks


def _texts(source: Path, target: Path, benchmarks: dict[str, tuple[str, ...]]) -> None:
    commands = []
    for line in (source / "COMMANDS.tsv").read_text().splitlines():
        title = line.partition("\t")[0]
        benchmark = next((b for b in benchmarks if title.startswith(f"{b}.")), None)
        if benchmark is None:
            continue
        endings = benchmarks[benchmark]
        if not endings or title.removeprefix(benchmark) in endings:
            commands.append(line)
            shutil.copyfile(source / f"{title}.txt", target / f"{title}.txt")
    (target / "COMMANDS.tsv").write_text("\n".join(commands) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FULL)
