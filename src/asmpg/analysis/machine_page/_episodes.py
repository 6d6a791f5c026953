"""Episodes that a machine plays, frame by frame, with pictures small enough for a page."""

import base64
import dataclasses
import io
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import UInt8

from asmpg.agents.machine import Machine
from asmpg.environments import Environment, Episode
from asmpg.policies import head_of

#: Pictures have so many pixels and colours.
_SIZE, _DOTS_PER_INCH, _COLOURS = (400, 300), 80, 32


@dataclasses.dataclass(frozen=True)
class PlayedEpisode:
    """What happened, and in which states the machine was: one state for each action."""

    episode: Episode
    states: tuple[int, ...]
    #: The actions as the machine numbers them.
    choices: tuple[int, ...]
    #: The probabilities of actions that were drawn from, and of states given what was seen.
    actions: tuple[np.ndarray, ...]
    beliefs: tuple[np.ndarray, ...]


def play(
    machine: Machine, environment: Environment[Any], *, seed: int, steps: int
) -> PlayedEpisode:
    """Play one episode of `steps` at most."""
    generator = np.random.default_rng(seed)
    reset, step = jax.jit(environment.reset), jax.jit(environment.step)
    head = head_of(environment.action_space)
    observation, latent = reset(jax.random.key(seed))
    episode = Episode([latent], [np.asarray(observation)])
    states, choices, chances, beliefs = [], [], [], []
    belief: np.ndarray | None = None
    while episode.steps < min(steps, environment.max_steps) and not episode.terminated:
        symbol = _number(machine, episode.observations[-1])
        if belief is None:
            row = belief = machine.start[symbol]
        else:
            rows = machine.update[:, choices[-1], symbol]
            row, belief = rows[states[-1]], belief @ rows
        states.append(_draw(row, generator))
        phi = machine.control[symbol if len(machine.control) > 1 else 0]
        choices.append(_draw(phi[states[-1]], generator))
        chances.append(phi[states[-1]])
        beliefs.append(belief)
        after = belief * phi[:, choices[-1]]
        belief = after / after.sum()
        key = jax.random.fold_in(jax.random.key(seed), 1 + episode.steps)
        parts = np.asarray(head.play(jnp.asarray(choices[-1])))
        action = parts if parts.ndim else choices[-1]
        observation, latent, reward, terminated = step(key, latent, action)
        episode.append(latent, np.asarray(observation), action, float(reward), bool(terminated))
    episode.truncated = episode.steps == environment.max_steps and not episode.terminated
    return PlayedEpisode(episode, *map(tuple, (states, choices, chances, beliefs)))


def _number(machine: Machine, observation: np.ndarray) -> int:
    return int(observation if machine.cases is None else machine.cases.number(observation))


def _draw(probabilities: np.ndarray, generator: np.random.Generator) -> int:
    return int((generator.random() >= np.cumsum(probabilities)[:-1]).sum())


def frames(machine: Machine, played: PlayedEpisode) -> list[dict[str, Any]]:
    """A dictionary for each moment: what is seen, the state, the action; the last has no action."""
    episode, made = played.episode, []
    for time, observation in enumerate(episode.observations):
        frame: dict[str, Any] = {
            "observation": machine.observation_names[_number(machine, observation)],
            "reward": None if time == 0 else round(episode.rewards[time - 1], 4),
            "total": round(sum(episode.rewards[:time]), 4),
        }
        if machine.cases is not None:
            values = ", ".join(f"{value:.3g}" for value in np.ravel(observation))
            frame["observation"] = f"{values} (near {frame['observation']})"
        if time < episode.steps:
            frame |= {
                "state": played.states[time],
                "action": played.choices[time],
                "chances": [round(float(part), 3) for part in played.actions[time]],
                "belief": [round(float(part), 3) for part in played.beliefs[time]],
            }
        made.append(frame)
    return made


class Pictures:
    """Pictures as data URLs, each kept once, as long as there is room for `most_bytes`."""

    def __init__(self, environment: Environment[Any], most_bytes: int):
        self.urls: list[str] = []
        self._environment = environment
        self._left = most_bytes
        self._known: dict[str, int] = {}
        self._axes: Any = None

    def add(self, episode: Episode, time: int) -> int | None:
        """The number of the picture after `time` steps; `None` if there is no room for it."""
        url = _encoded(self._drawn(_until(episode, time)))
        if url not in self._known:
            if len(url) > self._left:
                return None
            self._left -= len(url)
            self._known[url] = len(self.urls)
            self.urls.append(url)
        return self._known[url]

    def _drawn(self, episode: Episode) -> UInt8[np.ndarray, "height width 3"]:
        """The picture that `environment.draw` draws; laid out once, as that takes the longest."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        first = self._axes is None
        if first:
            dots = _DOTS_PER_INCH
            inches = (_SIZE[0] / dots, _SIZE[1] / dots)
            figure = Figure(figsize=inches, dpi=dots, layout="constrained")
            FigureCanvasAgg(figure)
            self._axes = figure.add_subplot()
        else:
            self._axes.clear()
        self._environment.draw(self._axes, episode)
        canvas = self._axes.figure.canvas
        canvas.draw()
        if first:
            self._axes.figure.set_layout_engine("none")
        return np.array(canvas.buffer_rgba())[:, :, :3].copy()


def _until(episode: Episode, time: int) -> Episode:
    """The same episode, as it was after `time` steps."""
    over = time == episode.steps
    return Episode(
        episode.states[: time + 1],
        episode.observations[: time + 1],
        episode.actions[:time],
        episode.rewards[:time],
        terminated=episode.terminated and over,
        truncated=episode.truncated and over,
    )


def _encoded(pixels: UInt8[np.ndarray, "height width 3"]) -> str:
    from PIL import Image

    content = io.BytesIO()
    whole = Image.fromarray(pixels)
    # The colours of large areas as they are; some that cover the rest, for small marks.
    red, green, blue = (pixels[..., part].astype(np.int32) for part in range(3))
    colours, counts = np.unique(red << 16 | green << 8 | blue, return_counts=True)
    most = colours[np.argsort(-counts)[: _COLOURS // 2]]
    often = np.stack([most >> 16, most >> 8 & 255, most & 255], axis=-1).ravel().tolist()
    others = whole.quantize(_COLOURS // 2, Image.Quantize.MAXCOVERAGE).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette([*often, *others[: 3 * (_COLOURS // 2)]])
    image = whole.quantize(palette=palette, dither=Image.Dither.NONE)
    image.save(content, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}"
