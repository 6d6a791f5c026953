"""`asmpg envs`: the environments, the values of policies in them, and their pictures."""

import dataclasses
import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import rich
import rich.box
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table

from asmpg.analysis.figures import draw_environments, draw_yardstick_chart
from asmpg.environments import PAPER_ENVIRONMENTS, Discrete, Environment, make, random_episode
from asmpg.environments.drawing import text
from asmpg.environments.pomdp_files import PomdpEnvironment
from asmpg.exact import KIND_MARKS, YARDSTICK_LABELS, Yardstick, Yardsticks, yardsticks

#: Headings of the criteria.
CRITERIA = {
    "discounted": "discounted",
    "undiscounted": "return",
    "reward_per_step": "per step",
}
#: Those of the overview, with headings for a narrow terminal.
OVERVIEW = {
    "random": "random",
    "memoryless": "memory-\nless",
    "history_optimal": "history\noptimum",
    "full_state": "full\nstate",
}
_PICTURE_STEPS = 16
_MOST_NAMES = 30


def envs(name: str | None = None, *, recompute: bool = False) -> list[dict[str, Any]]:
    """The paper's environments, or the one called `name`, with the values of policies in them.

    Where a solver is slow, stored values are used unless `recompute` is true.

    >>> asmpg.envs("CheeseMaze")[0]["values"]["history_optimal"]
    """
    environments = [make(known) for known in ([name] if name else PAPER_ENVIRONMENTS)]
    return [_entry(each, yardsticks(each, recompute=recompute)) for each in environments]


def show(
    name: str | None, *, as_json: bool, pictures: Path | None, recompute: bool = False
) -> None:
    """Print one environment in detail, or a table of all, and draw them if asked."""
    made = [make(known) for known in ([name] if name else PAPER_ENVIRONMENTS)]
    environments = {environment.name: environment for environment in made}
    console = Console(stderr=True)
    measured: dict[str, Yardsticks] = {}
    with console.status("") as status:
        for known, environment in environments.items():
            status.update(f"Computing the yardsticks of {known}")
            measured[known] = yardsticks(environment, recompute=recompute)
    if as_json:
        entries = [_entry(environments[known], values) for known, values in measured.items()]
        print(json.dumps(entries[0] if name else entries, indent=2))
    elif name:
        _print_detail(made[0], measured[made[0].name])
    else:
        _print_table(environments, measured)
    if name and not as_json:
        pictures = pictures or Path("pictures")
    if pictures is not None:
        paths = draw_environments(environments, pictures, steps=_PICTURE_STEPS)
        picture = f"yardsticks-{made[0].name}" if name else "yardsticks"
        paths.append(draw_yardstick_chart(environments, measured, pictures / f"{picture}.png"))
        for path in paths:
            console.print(f"Drew {path}")


def _entry(environment: Environment[Any], values: Yardsticks) -> dict[str, Any]:
    return {
        "name": environment.name,
        "observation": str(environment.observation_space),
        "actions": list(environment.action_names),
        "max_steps": environment.max_steps,
        "r_max": environment.reward_bound,
        "options": environment.options(),
        "values": {
            kind: {key: item for key, item in value.items() if item not in (None, "")}
            for kind, value in dataclasses.asdict(values).items()
            if value is not None
        },
    }


def _print_table(
    environments: Mapping[str, Environment[Any]], measured: Mapping[str, Yardsticks]
) -> None:
    table = Table(
        title="Values of policies (discount 0.99, at most 200 steps)", box=rich.box.SIMPLE
    )
    table.add_column("environment", no_wrap=True)
    table.add_column("criterion", no_wrap=True)
    for heading in OVERVIEW.values():
        table.add_column(heading, justify="right")
    for known, values in measured.items():
        names = [known, f"[dim]{_summary(environments[known])}[/dim]", ""]
        for criterion, label in CRITERIA.items():
            cells = [_cell(values, kind, criterion) for kind in OVERVIEW]
            if any(cells):
                table.add_row(names.pop(0), label, *cells)
        table.add_section()
    rich.print(table)
    _print_legend(measured)
    print("asmpg envs NAME shows one in detail; --pictures FOLDER draws them; --json prints all.")


def _summary(environment: Environment[Any]) -> str:
    space = environment.observation_space
    if isinstance(space, Discrete):
        seen = f"{space.n} symbols"
    else:
        seen = f"{len(space.low)} real" + ("s" if len(space.low) > 1 else "")
    return f"{seen}, {len(environment.action_names)} actions"


def _print_detail(environment: Environment[Any], values: Yardsticks) -> None:
    console = Console()
    console.print(Markdown(_description(environment), code_theme="ansi_dark"))
    print()
    facts = Table.grid(padding=(0, 2))
    facts.add_row("observation", str(environment.observation_space))
    facts.add_row("actions", ", ".join(environment.action_names))
    if environment.observation_names:
        facts.add_row("observations", _some(environment.observation_names))
    if isinstance(environment, PomdpEnvironment):
        facts.add_row("states", _some(environment.state_names))
        facts.add_row("discount", f"{environment.discount:g}")
    facts.add_row("r_max", f"{environment.reward_bound:g}")
    console.print(facts)
    options = Table(box=rich.box.SIMPLE)
    options.add_column("option")
    options.add_column("default", justify="right")
    for option, value in environment.options().items():
        options.add_row(option, _plain(value))
    console.print(options)
    print("Change an option with --environment-option NAME=VALUE\n")
    table = Table(title="Values of policies", box=rich.box.SIMPLE)
    table.add_column("policy")
    for label in CRITERIA.values():
        table.add_column(label, justify="right")
    table.add_column("known by")
    for kind, label in YARDSTICK_LABELS.items():
        value = getattr(values, kind)
        if value is not None:
            cells = [_cell(values, kind, criterion) for criterion in CRITERIA]
            table.add_row(label, *cells, ": ".join(filter(None, [value.kind, value.note])))
    console.print(table)
    print(f"After up to {_PICTURE_STEPS} random steps:\n")
    print(text(environment, random_episode(environment, seed=0, steps=_PICTURE_STEPS)))


def _some(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:_MOST_NAMES])
    return shown if len(names) <= _MOST_NAMES else f"{shown}, ... ({len(names)} in total)"


def _description(environment: Environment[Any]) -> str:
    """The docstring of its module, or of its class where a module has several environments."""
    page = inspect.getdoc(inspect.getmodule(type(environment))) or ""
    if not page.startswith(f"{environment.name}: "):
        page = f"{environment.name}: {inspect.getdoc(type(environment)) or ''}"
    return page.replace(environment.name, f"**{environment.name}**", 1)


def _plain(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_plain, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _cell(values: Yardsticks, kind: str, criterion: str) -> str:
    yardstick: Yardstick | None = getattr(values, kind)
    if yardstick is None or (value := getattr(yardstick, criterion)) is None:
        return ""
    mark = KIND_MARKS[yardstick.kind]
    return f"{mark}{value:.4f}" if abs(value) < 10 else f"{mark}{value:.2f}"


def _print_legend(measured: Mapping[str, Yardsticks]) -> None:
    every = [getattr(values, kind) for values in measured.values() for kind in YARDSTICK_LABELS]
    kinds = {yardstick.kind for yardstick in every if yardstick is not None}
    if "search" in kinds:
        print("≥  found by a local search: at least this much")
    if "bound" in kinds:
        print("≤  an upper bound: at most this much")
    if kinds & {"grid", "simulation"}:
        print("≈  computed on a grid, or simulated; --json has the accuracy")
