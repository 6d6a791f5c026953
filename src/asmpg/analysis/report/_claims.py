"""The section of a report on the claims of its study."""

from collections.abc import Sequence

from asmpg._support.words import counted
from asmpg.analysis._claims import SEED_GROUPS, SeedGroup, Verdict, environments_where, judge
from asmpg.analysis._results import Results
from asmpg.analysis._summary import MEASURE_LABELS, MEASURES
from asmpg.analysis.report._html import table, text
from asmpg.studies import Claim

_SIGNS = {"holds": "+", "fails": "\N{MINUS SIGN}", "open": "·"}


def claims_section(results: Results) -> str:
    """A table of where each claim holds, by which measure; empty for a study without claims."""
    verdicts = judge(results)
    if not verdicts:
        return ""
    several = {each.seeds for each in verdicts}
    rows = [
        _row(results, verdicts, claim, measure, group)
        for claim in results.study.claims
        for group in SEED_GROUPS
        if group in several
        for measure in MEASURES
    ]
    headings = ["claim", "ours", "theirs", "seeds", "measure", *results.environments]
    headings += ["holds in", "highest median in"]
    body = table(headings, [row for row in rows if row], name="claims")
    apart = (
        f" Entries may be chosen on the {counted(len(results.study.selection_seeds), 'seed')} for "
        "selection; what is chosen on them is confirmed on the others alone."
        if results.study.selection_seeds
        else ""
    )
    return (
        "<section id='claims-section'><h2>Where the claims hold</h2><p>+: ours is higher than each "
        "of theirs; \N{MINUS SIGN}: it is lower than one of them; ·: open, by the 95 % bootstrap "
        "interval of the difference of interquartile means. Each row uses one measure, the same "
        f"for all methods.{text(apart)}</p>{body}</section>"
    )


def _row(
    results: Results, verdicts: Sequence[Verdict], claim: Claim, measure: str, group: SeedGroup
) -> list[str | tuple[str, int]]:
    """Nothing where no environment has results of all entries of the claim."""
    own = {
        each.environment: each
        for each in verdicts
        if (each.claim, each.measure, each.seeds) == (claim, measure, group)
    }
    if not own:
        return []
    ours, *theirs = (results.study.entry(name).label for name in claim.entries)
    signs = [_SIGNS[own[name].verdict] if name in own else "–" for name in results.environments]
    holds = len(environments_where(verdicts, claim, measure, group))
    medians = sum(each.highest_median for each in own.values())
    counts = [(f"{number} of {len(own)}", number) for number in (holds, medians)]
    named = [claim.label, ours, ", ".join(theirs), group, MEASURE_LABELS[measure]]
    return [*named, *signs, *counts]
