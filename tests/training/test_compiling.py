"""What is compiled before training starts, and how often."""

import equinox as eqx
import jax
import numpy as np

from asmpg.methods import ASMPPO
from asmpg.runs import RunConfig, raw
from asmpg.training import Callback, train
from asmpg.training._program import HASTILY, Program, build_program, start_compiled, start_seed

SEED = jax.device_put(np.int32(3))
METHOD = ASMPPO(num_states=3, num_environments=2, rollout_steps=8, epochs=1, minibatches=1)
CONFIG = {"method": METHOD, "evaluate_every": 16, "evaluation_episodes": 3}


class Counting(Callback):
    """Counts programs: those compiled, or read from the cache, before training, and after."""

    def __init__(self):
        self.total = 0
        self.before = None
        jax.monitoring.register_event_duration_secs_listener(self.hear)

    def hear(self, event, seconds, **_):
        self.total += event == "/jax/core/compile/backend_compile_duration"

    def on_compiled(self, seconds):
        self.before = self.total


def test_each_program_is_compiled_once_before_training(monkeypatch):
    """Starting, updating, evaluating: side by side, and found again by those who call them."""
    monkeypatch.setattr("asmpg.training._loop.available_cores", lambda: 2)
    start_compiled()  # tries out which options XLA knows
    fresh, more = Counting(), Counting()
    train(RunConfig("Tiger", steps=32, seeds=(0, 1), **CONFIG), callbacks=[fresh], verbose=0)
    assert fresh.before == fresh.total == 3
    before = more.total
    train(RunConfig("Tiger", steps=48, seeds=(5,), **CONFIG), callbacks=[more], verbose=0)
    assert more.total == before


def test_seeds_start_the_same_however_they_are_compiled():
    """Options of the compiler save time, and change no bit."""
    config = RunConfig("Tiger", steps=32, **CONFIG)
    program = build_program(config, config.resolve())
    hasty, plain = start_seed(program, 3), eqx.filter_jit(Program.start, **HASTILY)(program, SEED)
    assert eqx.tree_equal(jax.tree.map(raw, hasty), jax.tree.map(raw, plain))
