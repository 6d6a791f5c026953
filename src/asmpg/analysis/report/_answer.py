"""The conclusions in words: who wins where, and by how much."""

import dataclasses

from asmpg._support.words import listed, percent
from asmpg.analysis._results import Results
from asmpg.analysis._summary import Summary, everywhere


@dataclasses.dataclass(frozen=True)
class Answer:
    """Sentences on all environments together, on each, and on the first entry against others."""

    overall: tuple[str, ...]
    environments: dict[str, str]
    against: dict[str, str]


def answer(results: Results, summary: Summary) -> Answer:
    """Put the statistics into words."""
    return Answer(
        _overall(results, summary),
        {name: _environment(results, summary, name) for name in results.environments},
        _against(results, summary),
    )


def _overall(results: Results, summary: Summary) -> tuple[str, ...]:
    if len(results.environments) < 2:
        return ()
    ranked = sorted(
        (
            (interval, entry)
            for (entry, kind), interval in summary.overall.items()
            if kind == "final"
        ),
        reverse=True,
    )
    return tuple(
        f"{results.study.entry(entry).label}: {interval.text}" for interval, entry in ranked
    )


def _environment(results: Results, summary: Summary, environment: str) -> str:
    first, close = summary.winner(environment)
    label = results.study.entry(first.entry).label
    others = len(results.entries(environment)) - 1
    score = results.scores[environment].label
    parts = [f"{label} with {score} {first.final.text}"]
    if first.normalised is not None:
        share = percent(first.normalised.value)
        parts.append(f"{share} of the way from random to the history optimum")
    if close:
        names = listed([results.study.entry(cell.entry).label for cell in close])
        parts.append(f"indistinguishable from {names}")
    elif others:
        parts.append("all others end lower" if others > 1 else "the other one ends lower")
    return "; ".join(parts)


def _against(results: Results, summary: Summary) -> dict[str, str]:
    entries = [entry.name for entry in results.study.entries]
    first = entries[0]
    sentences = {}
    for other in entries[1:]:
        shared = [
            name for name in results.environments if {first, other} <= {*results.entries(name)}
        ]
        above, below, open_ = [], [], []
        for name in shared:
            ahead = summary.comparison(name, first, other).difference
            if ahead is None or not ahead.excludes(0.0):
                open_.append(name)
            else:
                (above if ahead.value > 0 else below).append(name)
        parts = [
            f"{word} in {listed(names)}"
            for word, names in (("higher", above), ("lower", below), ("open", open_))
            if names
        ]
        if {first, other} <= {*everywhere(results)}:
            found = summary.comparison(None, first, other).improvement
            parts.append(f"probability of ending higher {found.text}")
        if parts:
            sentences[results.study.entry(other).label] = "; ".join(parts)
    return sentences
