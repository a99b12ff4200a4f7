"""Copy the small example inputs and one idle CSV out of the full data; runs none of our code."""

from __future__ import annotations

import shutil
from pathlib import Path

HERE = Path(__file__).parent
SHARED = HERE.parents[2] / "shared" / "data"


def main() -> None:
    """Copy what is missing or different; nothing is cut, the files are small."""
    for source in sorted((SHARED / "inputs").rglob("*")):
        if source.is_file():
            copy(source, HERE / "inputs" / source.relative_to(SHARED / "inputs"))
    for name in ("idle_6.12_c1_menu_ip-expo.csv", "idle_6.1_c1_teo_ip-fixed200.csv"):
        copy(SHARED / "real_traces" / name, HERE / "traces" / name)
    for name in ("6.12_c2_hackbench.trace.gz", "6.1_c2_hackbench.trace.gz"):
        copy(SHARED / "real_traces" / "traces" / name, HERE / "traces" / name)
    for kind in ("perf-script", "trace-cmd-report"):
        name = f"6.12_c2_hackbench_{kind}.txt.gz"
        copy(SHARED / "real_traces" / "formats" / name, HERE / "traces" / name)


def copy(source: Path, target: Path) -> None:
    """Copy one file, writable."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


if __name__ == "__main__":
    main()
