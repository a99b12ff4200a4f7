"""The package as a whole: what importing it costs, what ships, whether the stubs are true."""

from __future__ import annotations

import doctest
import importlib
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import tickless
from conftest import ROOT
from tickless import errors


def run(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *args], capture_output=True, text=True, timeout=300, cwd=ROOT
    )


def test_import_loads_numpy_and_the_core_only():
    code = (
        "import sys, tickless; "
        "late = {'scipy', 'pandas', 'matplotlib', 'tqdm', 'xarray'} & set(sys.modules); "
        "ours = sorted(m for m in sys.modules if m.startswith('tickless')); "
        "print(late, ours)"
    )
    done = run("-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "set() ['tickless', 'tickless._core', 'tickless.errors']"


def test_every_public_name_can_be_used():
    for name in tickless.__all__:
        assert getattr(tickless, name) is not None
    assert set(tickless.__all__) <= set(dir(tickless))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        assert tickless.nothing


@pytest.mark.parametrize(
    "name", [n for n, home in tickless._HOME.items() if home.endswith("." + n)]
)
def test_a_function_is_found_whatever_of_its_module_was_imported_first(name):
    code = f"import tickless.{name}, tickless; assert callable(tickless.{name}), tickless.{name}"
    done = run("-c", code)
    assert done.returncode == 0, done.stderr


def test_all_is_sorted_and_matches_the_lazy_names():
    assert list(tickless.__all__) == sorted(tickless.__all__)
    assert set(tickless._HOME) <= set(tickless.__all__)


def test_the_reference_of_the_manual_lists_every_public_name_once():
    text = (ROOT / "docs" / "reference.md").read_text()
    listed = [line.strip() for line in text.splitlines() if line.startswith("   ")]
    listed = [name for name in listed if name.isidentifier()]
    assert sorted(listed) == [name for name in tickless.__all__ if name != "__version__"]


PACKAGE = Path(tickless.__file__).parent
WITH_EXAMPLES = sorted(p for p in PACKAGE.rglob("*.py") if ">>> " in p.read_text())


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_the_examples_in_docstrings_print_what_they_show(path):
    words = ("tickless", *path.relative_to(PACKAGE).with_suffix("").parts)
    module = importlib.import_module(".".join(words).removesuffix(".__init__"))
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize(
    "kind",
    [
        errors.TicklessError,
        errors.UnknownNameError,
        errors.InvalidParameterError,
        errors.InvalidTypeError,
        errors.ShapeError,
    ],
)
def test_exceptions_pickle_and_are_value_errors(kind):
    e = pickle.loads(pickle.dumps(kind("what is wrong")))
    assert isinstance(e, kind)
    assert isinstance(e, ValueError)
    assert str(e) == "what is wrong"


def test_input_errors_keep_their_place_when_pickled():
    e = pickle.loads(pickle.dumps(errors.InputError("t.txt, line 3: bad", "t.txt", 3, "bad-line")))
    assert (e.path, e.line, e.code, str(e)) == ("t.txt", 3, "bad-line", "t.txt, line 3: bad")


def test_the_stubs_match_the_compiled_module():
    # The compiled module lists itself; a second list in the stub would only have to be kept equal.
    allowed = ROOT / "tests" / "python" / "stubtest_allowed.txt"
    done = run("-m", "mypy.stubtest", "tickless._core", "--allowlist", str(allowed))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_type_checks():
    done = run("-m", "mypy", "--config-file", "pyproject.toml")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("package", "call", "extra"),
    [
        ("matplotlib", "tickless.Workload('tbench').plot()", "plot"),
        ("pyarrow", "res.to_parquet('x.parquet')", "sweep"),
        ("pyarrow", "tickless.Results.from_parquet('x.parquet')", "sweep"),
        ("xarray", "res.to_xarray()", "notebook"),
        (
            "tqdm",
            "tickless.replay(periods, 'menu', machine='8x-SKYLAKE-UMA', progress=True)",
            "sweep",
        ),
    ],
)
def test_a_missing_package_is_said_with_what_installs_it(package, call, extra, tmp_path):
    code = f"""
import sys; sys.modules[{package!r}] = None
import tickless
res = tickless.Results.build("b", ["k"], ["c"], {{"t": (tickless.Metric.time("s"), [[[1.0]]])}})
periods = tickless.IdlePeriods([1000], [10])
try:
    {call}
except ModuleNotFoundError as e:
    print(e)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert done.stdout == f"needs {package}: pip install 'tickless[{extra}]'\n", done.stderr
