"""What all drawings share: colours, the title, the span of the time axis."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from asmpg.environments._environment import Environment
    from asmpg.environments._episode import Episode

INK, GREY, FAINT = "#222222", "#6b7280", "#d3d7dc"
#: Colours that the colour-blind can tell apart (Okabe and Ito).
BLUE, ORANGE, GREEN, RED = "#0072b2", "#e69f00", "#009e73", "#d55e00"
SKY, PURPLE, YELLOW, BLACK = "#56b4e9", "#cc79a7", "#f0e442", "#000000"
COLOURS = (BLUE, ORANGE, GREEN, RED, SKY, PURPLE, YELLOW, BLACK)

_FIRST_SPAN = 25


def draw_title(axes: "Axes", environment: "Environment[Any]", episode: "Episode") -> None:
    """The name, how the episode ended if it did, and a line with step, return and last reward."""
    axes.set_title(environment.name, loc="left", fontsize=10, fontweight="bold", pad=19)
    ending = ending_of(episode)
    axes.set_title(ending, loc="right", fontsize=10, fontweight="bold", pad=19, color=RED)
    axes.annotate(
        status(environment, episode),
        (0, 1),
        xytext=(0, 6),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=9,
        color=GREY,
    )


def status(environment: "Environment[Any]", episode: "Episode") -> str:
    """Step, return and last reward."""
    parts = [
        f"step {episode.steps}/{environment.max_steps}",
        f"return {episode.undiscounted_return:+.2f}",
    ]
    if episode.rewards:
        parts.append(f"last reward {episode.rewards[-1]:+.2f}")
    return "   ".join(parts)


def ending_of(episode: "Episode") -> str:
    """The word for how the episode ended, if it did."""
    if episode.terminated:
        return "terminated"
    return "truncated" if episode.truncated else ""


def time_span(environment: "Environment[Any]", episode: "Episode") -> int:
    """How many steps a time axis shows: it doubles as the episode grows, up to `max_steps`."""
    span = _FIRST_SPAN
    while span < episode.steps:
        span *= 2
    return min(span, environment.max_steps)


def marker_size(environment: "Environment[Any]", episode: "Episode") -> float:
    """A size at which the marks of neighbouring steps do not run together."""
    return max(2.5, 5 * min(1, 50 / time_span(environment, episode)))


def style_time_axis(axes: "Axes", environment: "Environment[Any]", episode: "Episode") -> None:
    """Steps along the bottom, without a frame above and to the right."""
    span = time_span(environment, episode)
    axes.set_xlim(-0.02 * span, 1.02 * span)
    axes.tick_params(labelsize=8, colors=GREY)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)


def draw_legend(axes: "Axes", handles: "Sequence[Artist]") -> None:
    """One row below the time axis."""
    legend = axes.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.09),
        ncols=len(handles),
        fontsize=8,
        frameon=False,
        handlelength=1.4,
        handletextpad=0.5,
        columnspacing=1.2,
    )
    for line in legend.get_lines():
        line.set_markersize(5)
