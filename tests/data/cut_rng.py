"""Write what numpy's SeedSequence, PCG64 and Generator give, for `tests/rng.rs`.

Run with numpy alone: ``python tests/data/cut_rng.py``. The file has one line per case::

    entropy words, least first | spawn key | generate_state(8, uint64) | first 8 raw words |
    random() | integers(0, n, uint64) of each n in BOUNDS

Numbers are separated by blanks, floats are written as the integer they are a multiple of 2**-53.
A fresh generator serves each of the last three columns.
"""

from pathlib import Path

import numpy as np

ENTROPY = [0, 1, 7, 2**31, 2**32, 2**64 - 1, 2**64, 3 << 120, (1 << 200) + 12345, 20181110]
KEYS = [(), (0,), (1,), (0, 5), (2**32 - 1, 3, 4, 1, 9)]
BOUNDS = [2**32 + 1, 2**33, 3 * 2**62, 2**63 + 1, 10**19]
"""Above 32 bits, where numpy uses one 64-bit word a number."""


def words(entropy: int) -> list[int]:
    """Return the 64-bit words of a number, least first."""
    count = max(1, -(-entropy.bit_length() // 64))
    return [entropy >> 64 * i & 2**64 - 1 for i in range(count)]


def case(entropy: int, key: tuple[int, ...]) -> str:
    """Return one line."""
    seed = np.random.SeedSequence(entropy, spawn_key=key)

    def generator() -> np.random.Generator:
        return np.random.Generator(np.random.PCG64(seed))

    floats = [int(x * 2**53) for x in generator().random(8)]
    source = generator()
    bounded = [source.integers(0, n, dtype=np.uint64) for n in BOUNDS for _ in range(4)]
    columns = [
        words(entropy),
        key,
        seed.generate_state(8, np.uint64),
        generator().bit_generator.random_raw(8),
        floats,
        bounded,
    ]
    return " | ".join(" ".join(str(int(v)) for v in column) for column in columns)


if __name__ == "__main__":
    lines = [case(entropy, key) for entropy in ENTROPY for key in KEYS]
    path = Path(__file__).parent / "rng" / "numpy.txt"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([f"# numpy {np.__version__}, {Path(__file__).name}", *lines, ""]))
