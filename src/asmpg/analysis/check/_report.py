"""What `asmpg check` found, for people and for programs."""

import dataclasses
from typing import Any

import numpy as np

from asmpg._support.words import counted
from asmpg.analysis.check._comparison import WITH, WITHOUT, Comparison
from asmpg.analysis.check._play import RandomPlay

#: Components whose values reach further than this are better scaled.
_WIDE = 5.0
_MOST_SHOWN = 8


@dataclasses.dataclass(frozen=True)
class CheckReport:
    """Whether an environment fits, and if so, how, what it costs and whether memory helps.

    `problem` says why it does not fit. `str(report)` is what `asmpg check` prints.
    """

    name: str
    problem: str | None = None
    stepped: str = ""
    observations: str = ""
    actions: int = 0
    max_steps: int = 0
    play: RandomPlay | None = None
    warnings: tuple[str, ...] = ()
    comparison: Comparison | None = None

    @property
    def fits(self) -> bool:
        """Whether it can be trained in."""
        return self.problem is None

    @property
    def observation_scale(self) -> tuple[float, ...] | None:
        """The option of that name to try: what random play saw at most, where that is wide."""
        if self.play is None or isinstance(self.play.seen, int):
            return None
        largest = [float(f"{max(map(abs, pair)):.2g}") for pair in self.play.seen]
        return tuple(value or 1.0 for value in largest) if max(largest) > _WIDE else None

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        report = dataclasses.asdict(self)
        if self.comparison is not None:
            found = self.comparison
            report["comparison"] |= {
                "difference": found.difference,
                "interval": found.interval,
                "verdict": found.verdict,
            }
        return report | {"fits": self.fits, "observation_scale": self.observation_scale}

    def __str__(self) -> str:
        if self.problem is not None:
            return f"{self.name} does not fit: {self.problem}"
        lines = [
            f"{self.name} fits: {self.stepped}",
            f"  observations  {self.observations}",
            f"  actions       {self.actions}",
            f"  time limit    {self.max_steps} steps",
            *self._play_lines(),
            *(f"  Gymnasium's checker: {warning}" for warning in self.warnings),
        ]
        if self.comparison is not None:
            lines += self._comparison_lines(self.comparison)
        return "\n".join(lines)

    def _play_lines(self) -> list[str]:
        play = self.play
        if play is None:
            return []
        if isinstance(play.seen, int):
            seen = f"{play.seen} different symbols"
        else:
            shown = [f"[{low:.3g}, {high:.3g}]" for low, high in play.seen[:_MOST_SHOWN]]
            seen = " × ".join(shown) + (" × …" if len(play.seen) > _MOST_SHOWN else "")
        length = "none ended" if play.mean_length is None else f"{play.mean_length:.1f} steps long"
        lines = [
            f"  at random     {play.steps:,} steps: saw {seen}; rewards {play.rewards[0]:.3g} to "
            f"{play.rewards[1]:.3g}; episodes {length}, {play.terminated} terminated, "
            f"{play.truncated} truncated",
            f"  speed         {play.steps_per_second:,.0f} steps/s of the environment alone",
        ]
        scale = self.observation_scale
        if scale is not None and len(scale) <= _MOST_SHOWN:
            lines.append(f"  try           observation_scale={scale}")
        elif scale is not None:
            shown = ", ".join(map(str, scale[:_MOST_SHOWN]))
            lines.append(
                f"  try           observation_scale=({shown}, …), {len(scale):,} numbers from "
                f"{min(scale):g} to {max(scale):g}: all of them are in the report's "
                "observation_scale, in Python and with --json"
            )
        return lines

    def _comparison_lines(self, found: Comparison) -> list[str]:
        low, high = found.interval
        groups = (
            (f"{WITH}, {found.num_states} agent states", found.with_memory),
            (WITHOUT, found.without_memory),
        )
        return [
            f"Do you need memory? Discounted return after {found.steps:,} steps, "
            f"{counted(len(found.with_memory), 'seed')} each:",
            *(
                f"  {label}: {np.mean(group):.4g} ({', '.join(f'{x:.4g}' for x in group)})"
                for label, group in groups
            ),
            f"  untrained: {found.start:.4g}",
            f"  difference {found.difference:.3g}, 95 % interval [{low:.3g}, {high:.3g}]",
            f"  {found.verdict}",
        ]
