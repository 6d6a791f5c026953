"""`metrics.csv` has the digits that people would write, and its rows in the order of the seeds."""

import numpy as np

from asmpg.runs import MetricsWriter, columns, make_rows
from asmpg.runs._metrics import read_rows, write_rows

NAMES = columns(["loss"])


def rows_of(seeds, values):
    count = len(seeds)
    numbers = {name: np.arange(count) for name in ("steps", "episodes", "updates")}
    numbers |= dict.fromkeys(NAMES[4:], values) | {"wall_seconds": np.full(count, 0.001)}
    return make_rows(NAMES, seeds, numbers)


def test_numbers_have_the_digits_of_a_float32():
    """Of all sizes, of few digits, close to ties, and such as are not numbers."""
    generator = np.random.default_rng(0)
    sizes = generator.integers(0, 2**32, 20_000, np.uint32).view(np.float32)
    sizes = sizes[np.isfinite(sizes)]
    common = generator.normal(size=20_000) * np.exp(3 * generator.normal(size=20_000))
    ties = generator.integers(0, 2**24, 20_000) / 2.0 ** generator.integers(0, 24, 20_000)
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 1e-5, 1e16, 3e38, 1e-45, 999999.94]
    values = np.concatenate([sizes, common, common.round(3), ties, special]).astype(np.float32)
    found = [row["loss"] for row in rows_of(range(len(values)), values)]
    assert list(map(str, found)) == [str(float(str(value))) for value in values]


def test_rows_are_sorted_by_seed_and_stay_as_they_were(tmp_path):
    path, seeds = tmp_path / "metrics.csv", (7, 70, 1)
    write_rows(path, NAMES, [])
    writer = MetricsWriter(path, NAMES, [], lambda: None)
    twice = [rows_of(seeds, np.float32([part, 0.1, 1e-7])) for part in (1.5, 2.5)]
    for rows in twice:
        writer.append(rows)
    writer.sort(seeds)
    assert read_rows(path, NAMES) == [rows[place] for place in range(3) for rows in twice]
    assert len({writer.digest(seed, 2) for seed in seeds}) == 3
