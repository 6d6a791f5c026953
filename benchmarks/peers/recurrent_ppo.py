"""ASM-PPO beside sb3-contrib's RecurrentPPO: steps and seconds to the same score.

    pip install -r benchmarks/peers/requirements.txt
    python benchmarks/peers/recurrent_ppo.py [--tasks CheeseMaze ...] [--seeds 1] [--minutes 10]
        [--out FOLDER]

Both have their default options, but for a window of 8 in RepeatPreviousEasy and a critic that is
not shown latent states (ours, as theirs), and 8 environments abreast (theirs, as ours has). Ours
plays the task compiled where asmpg has it so, theirs plays the same one through Gymnasium:
CheeseMaze and MachineRepair by the ids that asmpg registers, POPGym's by POPGym. The masked
cart-pole is Gymnasium's, stepped in Python by both. A run ends with the first evaluation (100
episodes, actions drawn) that reaches the score, or with its budget of steps or of minutes. Seconds
count from the call that trains, with compilation and, for ours, with evaluations; those of theirs
are not counted.
"""

import argparse
import dataclasses
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

#: The seconds that count are those of a first run, so asmpg looks nothing up that it has compiled.
os.environ["ASMPG_COMPILE_CACHE"] = "off"

EPISODES = 100
EVERY = 5_120
FIRST_SEED = 300


@dataclasses.dataclass(frozen=True)
class Task:
    """A task, the score that counts, and how far each of the two may go to reach it."""

    #: What asmpg trains in: a name of its own, or a Gymnasium environment.
    ours: str | Callable[[], gymnasium.Env[Any, Any]]
    theirs: Callable[[], gymnasium.Env[Any, Any]]
    score: float
    measure: str
    steps: int
    options: dict[str, Any] = dataclasses.field(default_factory=dict)


def gymnasium_view(name: str) -> Callable[[], gymnasium.Env[Any, Any]]:
    def make() -> gymnasium.Env[Any, Any]:
        import asmpg  # noqa: F401  (registers the ids)

        return gymnasium.make(f"asmpg/{name}-v0")

    return make


def popgym_original(name: str) -> Callable[[], gymnasium.Env[Any, Any]]:
    def make() -> gymnasium.Env[Any, Any]:
        import popgym  # noqa: F401  (registers the ids)

        return gymnasium.make(f"popgym-{name}-v0")

    return make


class OnlyVelocities(gymnasium.ObservationWrapper[Any, Any, Any]):
    """CartPole that shows how fast things move, and not where they are."""

    def __init__(self, env: gymnasium.Env[Any, Any]):
        super().__init__(env)
        bound = np.full(2, 20.0, np.float32)
        self.observation_space = gymnasium.spaces.Box(-bound, bound, dtype=np.float32)

    def observation(self, observation: Any) -> Any:
        return np.clip(observation[[1, 3]], -20.0, 20.0).astype(np.float32)


def masked_cart_pole() -> gymnasium.Env[Any, Any]:
    return OnlyVelocities(gymnasium.make("CartPole-v1", max_episode_steps=200))


TASKS = {
    "CheeseMaze": Task(
        "CheeseMaze", gymnasium_view("CheeseMaze"), 0.2209, "reward_per_step", 200_000
    ),
    "MachineRepair": Task(
        "MachineRepair", gymnasium_view("MachineRepair"), 47.0, "discounted_return", 200_000
    ),
    "RepeatFirstEasy": Task(
        "popgym-RepeatFirstEasy",
        popgym_original("RepeatFirstEasy"),
        0.9,
        "undiscounted_return",
        200_000,
    ),
    "RepeatPreviousEasy": Task(
        "popgym-RepeatPreviousEasy",
        popgym_original("RepeatPreviousEasy"),
        0.9,
        "undiscounted_return",
        200_000,
        {"window": 8},
    ),
    "masked CartPole": Task(
        masked_cart_pole, masked_cart_pole, 190.0, "undiscounted_return", 200_000
    ),
}


def run_ours(task: Task, seed: int, seconds: float) -> dict[str, Any]:
    import asmpg

    began = time.perf_counter()
    environment = task.ours if isinstance(task.ours, str) else task.ours()
    clock = _Until(task.measure, task.score, began + seconds)
    asmpg.learn(
        asmpg.ASMPPO(critic="history", **task.options),
        environment,
        steps=task.steps,
        seeds=(seed,),
        evaluate_every=EVERY,
        evaluation_episodes=EPISODES,
        callbacks=[clock],
        verbose=0,
    )
    return _result(clock.curve, task.score, began)


def _callback_class() -> type:
    from asmpg.training import Callback

    return Callback


class _Until(_callback_class()):
    """Keeps the scores, and ends the run at the first that is high enough, or too late."""

    def __init__(self, measure: str, score: float, end: float):
        self.measure, self.score, self.end = measure, score, end
        self.curve: list[tuple[int, float, float]] = []

    def on_evaluation(self, seed: int, row: dict[str, Any]) -> bool | None:
        score = float(row[self.measure])
        self.curve.append((int(row["steps"]), score, time.perf_counter()))
        return False if score >= self.score or time.perf_counter() > self.end else None


def run_theirs(task: Task, seed: int, seconds: float) -> dict[str, Any]:
    from sb3_contrib import RecurrentPPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env

    curve: list[tuple[int, float, float]] = []
    spent = 0.0

    class Evaluate(BaseCallback):
        def _on_step(self) -> bool:
            late = time.perf_counter() - spent - began > seconds
            return not curve or (curve[-1][1] < task.score and not late)

        def _on_rollout_start(self) -> None:
            nonlocal spent
            due = len(curve) * EVERY
            if self.num_timesteps < due:
                return
            started = time.perf_counter()
            score = evaluate(self.model, task, seed)
            spent += time.perf_counter() - started
            curve.append((self.num_timesteps, score, time.perf_counter() - spent))

    began = time.perf_counter()
    environments = make_vec_env(task.theirs, n_envs=8, seed=seed)
    model = RecurrentPPO("MlpLstmPolicy", environments, seed=seed, verbose=0)
    model.learn(task.steps, callback=Evaluate())
    return _result(curve, task.score, began)


def evaluate(model: Any, task: Task, seed: int) -> float:
    """The mean over 100 episodes of the measure, actions drawn; all are played side by side."""
    environments = [task.theirs() for _ in range(EPISODES)]
    seen = [
        environment.reset(seed=seed * 1_000_003 + episode)[0]
        for episode, environment in enumerate(environments)
    ]
    state, first = None, np.ones(EPISODES, bool)
    rewards: list[list[float]] = [[] for _ in environments]
    playing = set(range(EPISODES))
    while playing:
        actions, state = model.predict(
            np.stack(seen), state=state, episode_start=first, deterministic=False
        )
        first = np.zeros(EPISODES, bool)
        for episode in sorted(playing):
            step = environments[episode].step(int(actions[episode]))
            seen[episode], reward, terminated, truncated, _ = step
            rewards[episode].append(float(reward))
            if terminated or truncated:
                playing.remove(episode)
    returns = np.array([sum(paid) for paid in rewards])
    if task.measure == "reward_per_step":
        return float(returns.sum() / sum(map(len, rewards)))
    if task.measure == "discounted_return":
        return float(np.mean([_discounted(paid) for paid in rewards]))
    return float(returns.mean())


def _discounted(rewards: list[float], discount: float = 0.99) -> float:
    return sum(reward * discount**step for step, reward in enumerate(rewards))


def _result(curve: list[tuple[int, float, float]], target: float, began: float) -> dict[str, Any]:
    reached = [(steps, clock - began) for steps, score, clock in curve if score >= target]
    return {
        "curve": [
            [steps, round(score, 4), round(clock - began, 1)] for steps, score, clock in curve
        ],
        "reached": [reached[0][0], round(reached[0][1], 1)] if reached else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Steps and seconds to the same score.")
    parser.add_argument("--tasks", nargs="+", choices=tuple(TASKS), default=tuple(TASKS))
    parser.add_argument("--libraries", nargs="+", default=("asmpg", "sb3-contrib"))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10, help="that a run may train")
    parser.add_argument("--out", type=Path, default=Path("peers"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.tasks:
        for seed in range(FIRST_SEED, FIRST_SEED + arguments.seeds):
            for library in arguments.libraries:
                path = arguments.out / f"{name.replace(' ', '-')}-{library}-{seed}.json"
                if path.exists():
                    continue
                run = {"asmpg": run_ours, "sb3-contrib": run_theirs}[library]
                found = run(TASKS[name], seed, 60 * arguments.minutes)
                about = {
                    "task": name,
                    "target": TASKS[name].score,
                    "library": library,
                    "seed": seed,
                    "minutes": arguments.minutes,
                }
                about |= _machine()
                path.write_text(json.dumps({**about, **found}) + "\n")
                print(name, library, seed, found["reached"], found["curve"][-1], flush=True)


def _machine() -> dict[str, Any]:
    from importlib.metadata import version

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    libraries = {name: version(name) for name in ("asmpg", "jax", "sb3-contrib", "torch")}
    return {"cores": cores, "python": platform.python_version(), "versions": libraries}


if __name__ == "__main__":
    main()
