"""`asmpg evaluate`: evaluate the policies of a run on fresh episodes."""

import json
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from asmpg.runs import Which
from asmpg.training import evaluate as evaluate

#: The columns of the table: the names of the sampled value and of the exact one.
_MEASURES = {
    "discounted": ("discounted_return", "exact_discounted"),
    "return": ("undiscounted_return", "exact_undiscounted"),
    "reward per step": ("reward_per_step", "exact_reward_per_step"),
    "length": ("episode_length", "exact_episode_length"),
}


def show(
    run: Path,
    *,
    episodes: int,
    greedy: bool,
    seed: int | None,
    which: Which,
    step: int | None,
    trust: bool,
    as_json: bool,
) -> None:
    """Evaluate, and print a table or JSON."""
    entries = evaluate(
        run, episodes=episodes, greedy=greedy, seed=seed, which=which, step=step, trust=trust
    )
    if as_json:
        print(json.dumps(entries, indent=2))
        return
    policy = f"{which} policy" if step is None else f"first policy kept at or after step {step:,}"
    table = Table(
        title=f"{run}: {episodes:,} episodes with the {policy} of each seed",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for heading in ("seed", *_MEASURES):
        table.add_column(heading, justify="right", no_wrap=True)
    for entry in entries:
        sampled = [
            f"{entry[name]:.3g} ± {entry[f'{name}_standard_error']:.2g}"
            for name, _ in _MEASURES.values()
        ]
        table.add_row(str(entry["seed"]), *sampled)
        exact = [entry.get(name) for _, name in _MEASURES.values()]
        if None not in exact:
            table.add_row("exact", *(f"{value:.3g}" for value in exact), style="dim")
    Console().print(table)
    print("± standard error; all digits with --json")
