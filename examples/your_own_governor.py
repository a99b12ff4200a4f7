# %% [markdown]
# How good could any governor be, and how bad is the simplest one?
# A governor is anything with select(ctx) and reflect(ctx, outcome). Two are enough for bounds:
# always the deepest state that the next timer allows, and always the shallowest.

# %%
import numpy as np

import tickless


class NextTimer:
    """Believe the timer: the deepest state whose target residency fits the sleep length."""

    name = "next-timer"

    def select(self, ctx):
        """Return the state, and whether the tick may stop."""
        fits = [i for i, t in enumerate(ctx.target_residency_ns) if t <= ctx.sleep_length_ns]
        return fits[-1], True

    def reflect(self, ctx, outcome):
        """Learn nothing."""


class Shallow:
    """Never sleep deeply."""

    name = "always-C1"

    def select(self, ctx):
        """Return state 1 and keep the tick."""
        return 1, False

    def reflect(self, ctx, outcome):
        """Learn nothing."""


# %% One CPU: exponential wake-ups, and a timer far behind most of them.
rng = np.random.default_rng(1)
wake = rng.exponential(150_000, 5_000).astype(np.int64)
timer = rng.integers(500_000, 4_000_000, 5_000)
periods = tickless.IdlePeriods(np.maximum(wake, timer), wake)

# %%
replay = tickless.replay(
    periods, ["menu-6.12", "teo-6.12", NextTimer(), Shallow()], machine="8x-SKYLAKE-UMA"
)
print(replay.compare("menu-6.12"))
