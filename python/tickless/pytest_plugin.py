"""The pytest plugin: a fixture that compares, asserts, and keeps baselines between runs.

It is loaded in every test run of an environment that has the package, so it imports nothing beyond
pytest and what ``import tickless`` loads until a test asks for the fixture.

Examples
--------
::

    def test_wakeups_are_not_slower(tickless):
        results = measure()                      # a tickless.Results
        tickless.assert_no_regression(results.compare("stock"), max_loss_pct=2)
        tickless.check(results)                  # against the stored baseline, if one is given

``pytest --tickless-baseline FILE`` stores what `check` sees for the first time and compares with
it from then on; ``--tickless-update`` stores anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tickless.baselines import Baselines
    from tickless.comparison import Comparison, ComparisonSet
    from tickless.results import Results

STORE = pytest.StashKey["Baselines"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("tickless")
    group.addoption(
        "--tickless-baseline",
        metavar="FILE",
        help="compare results with those in FILE; store the ones that are not there yet",
    )
    group.addoption(
        "--tickless-update",
        action="store_true",
        help="store all results of this run in the baseline file instead of comparing",
    )


class Tickless:
    """What the fixture ``tickless`` gives a test.

    Parameters
    ----------
    store : Baselines or None
        The baseline file of the run, None without one.
    name : str
        Node id of the test, the default key of its results.
    update : bool
        Store instead of comparing.
    """

    def __init__(self, store: Baselines | None, name: str, update: bool) -> None:
        self._store = store
        self._name = name
        self._update = update

    def assert_no_regression(
        self, c: Comparison | ComparisonSet, max_loss_pct: float = 2.0
    ) -> None:
        """Fail the test if a cell lost more than allowed; see `tickless.assert_no_regression`."""
        __tracebackhide__ = True
        from tickless.regression import assert_no_regression

        assert_no_regression(c, max_loss_pct)

    def check(
        self, results: Results, *, name: str = "", max_loss_pct: float = 2.0, **options: Any
    ) -> ComparisonSet | None:
        """Compare results with the stored ones of the same name and fail on a regression.

        Parameters
        ----------
        results : Results
            What this run measured.
        name : str
            Key in the baseline file; needed if a test checks more than one result.
        max_loss_pct : float
            Largest loss that is still fine, in percent.
        **options
            ``rule``, ``alpha`` and the like; see `tickless.Results.compare`.

        Returns
        -------
        ComparisonSet or None
            One comparison per kernel and metric, stored against measured; None if nothing was
            stored.
        """
        __tracebackhide__ = True
        if self._store is None:
            return None
        key = f"{self._name}::{name}" if name else self._name
        if self._update or key not in self._store:
            self._store[key] = results
            return None
        compared = self._store.compare(key, results, **options)
        self.assert_no_regression(compared, max_loss_pct)
        return compared


@pytest.fixture
def tickless(request: pytest.FixtureRequest) -> Tickless:
    """Give comparisons, assertions and stored baselines; see `tickless.pytest_plugin`."""
    config = request.config
    path = config.getoption("--tickless-baseline")
    if path is None:
        return Tickless(None, request.node.nodeid, False)
    from tickless.baselines import Baselines

    if STORE not in config.stash:
        config.stash[STORE] = Baselines(Path(path))
    update = bool(config.getoption("--tickless-update"))
    return Tickless(config.stash[STORE], request.node.nodeid, update)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what is new to the baseline file."""
    if STORE in session.config.stash:
        session.config.stash[STORE].save()


def pytest_terminal_summary(terminalreporter: Any) -> Iterator[None] | None:
    """Say what was stored: a first run compares nothing, and must not look as if it had."""
    stash = terminalreporter.config.stash
    if STORE in stash and (new := stash[STORE].new):
        terminalreporter.write_line(
            f"tickless: {len(new)} results stored in {stash[STORE].path}, nothing to compare with"
        )
    return None
