"""Seeds that are shared by several devices learn what they learn on one."""

import os
import subprocess
import sys

import numpy as np
import pytest

SCRIPT = """
import sys

import jax

import asmpg
from asmpg.training import _loop, _seed_batches, train

_loop._in_one_program = lambda: True
advance = _seed_batches.StackedSeeds.advance
shares = []


def watched(batch, state, until):
    chunk = advance(batch, state, until)
    shards = chunk.state.steps.addressable_shards
    shares.append(sorted((shard.device.id, len(shard.data)) for shard in shards))
    return chunk


_seed_batches.StackedSeeds.advance = watched
method = asmpg.ASMPPO(
    num_states=2, num_environments=2, rollout_steps=16, epochs=1, minibatches=1,
    critic="memory", critic_width=8,
)
config = asmpg.RunConfig(
    asmpg.make("CheeseMaze", max_steps=20), method=method, steps=96, evaluate_every=32,
    evaluation_episodes=3, seeds=tuple(range(6)),
)
four = train(config, sys.argv[1] + "/four", verbose=0)
assert shares[-1] == [(0, 2), (1, 2), (2, 2), (3, 2)], shares[-1]

_seed_batches.devices_for = lambda seeds: (jax.local_devices()[0],)
train(config, sys.argv[1] + "/one", verbose=0)
assert shares[-1] == [(0, 6)], shares[-1]
"""


@pytest.mark.long
def test_four_devices_are_as_one(tmp_path):
    """Six seeds: two copies of the last one fill up. Checkpoints, to 1e-3 after three updates.

    Not bit for bit: a program of two seeds may add in another order than one of six.
    """
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        env=os.environ | {"XLA_FLAGS": flags},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    files = sorted((tmp_path / "four").rglob("*.npz"))
    assert len(files) == 12
    for file in files:
        other = tmp_path / "one" / file.relative_to(tmp_path / "four")
        with np.load(file) as four, np.load(other) as one:
            assert four.files == one.files
            for name in set(four.files) - {"_meta"}:
                np.testing.assert_allclose(four[name], one[name], rtol=1e-3, atol=1e-3)
