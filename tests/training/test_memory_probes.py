"""Memory probes: solved by default options, and out of reach without memory.

One seed of two of them here; all of them, and how often single seeds solve them, are in
docs/methods/asm-ppo.md, from `python benchmarks/probes.py`.
"""

import numpy as np
import pytest

from asmpg.environments.probes import CountModulo, RepeatFirst, TMaze
from asmpg.exact import best_stochastic_memoryless, exact_returns, latent_process, optimal_returns
from asmpg.policies import KernelTables
from asmpg.studies.memory_probes import PROBES
from asmpg.training import train
from finite import make_finite
from quick import long

pytestmark = pytest.mark.long_running


#: The rest, with more seeds, is in benchmarks/probes.py.
QUICK = [probe for probe in PROBES if probe.label in ("repeat after 20", "T-maze of 10")]


@pytest.mark.long
@pytest.mark.parametrize("probe", QUICK, ids=lambda probe: probe.label)
def test_solved_by_default_options(probe):
    values = probe.values(train(probe.config(seeds=1)))
    assert min(values) >= probe.threshold


@pytest.mark.long
def test_solved_by_the_fewest_agent_states_without_a_window():
    """The paper's policy, of two agent states that are the answer."""
    probe = next(probe for probe in PROBES if probe.label == "repeat after 5")
    options = {"num_states": probe.fewest_states, "window": 0}
    values = probe.values(train(probe.config(seeds=1, options=options)))
    assert min(values) >= probe.threshold


@pytest.mark.parametrize(
    "probe",
    [probe if probe in QUICK else long(probe) for probe in PROBES],
    ids=lambda probe: probe.label,
)
def test_out_of_reach_without_memory(probe):
    """The best policy without memory, by a search on its exact value, is worth what it says."""
    environment = make_finite(probe.environment, **probe.options)
    [(_, found)] = best_stochastic_memoryless(
        environment.model,
        criteria=["undiscounted"],
        horizon=environment.max_steps,
        discount=0.99,
        restarts=1,
    )
    assert found.undiscounted == pytest.approx(probe.without_memory, abs=0.01)


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.label)
def test_optimum_is_what_it_says(probe):
    environment = make_finite(probe.environment, **probe.options)
    best = optimal_returns(
        latent_process(environment.model), horizon=environment.max_steps, discount=1.0
    )
    assert best.undiscounted == pytest.approx(probe.optimum)


def controller_for(environment):
    """By hand, with as many agent states as the table in `envs/probes.py` says."""
    if isinstance(environment, RepeatFirst):
        start = [0, 1, 0, 0]
        update = [[[s] * 4 for _ in range(2)] for s in range(2)]
        return {"start": start, "update": update, "control": [0, 1], "num_actions": 2}
    if isinstance(environment, CountModulo):
        m = environment.modulus
        update = [[[s, (s + 1) % m] for _ in range(m)] for s in range(m)]
        return {"start": [0, 1], "update": update, "control": list(range(m)), "num_actions": m}
    assert isinstance(environment, TMaze)
    # 0 and 1 walk on with "up" or "down" in mind; 2 and 3 turn.
    update = [[[s % 2, s % 2, s % 2, 2 + s % 2] for _ in range(3)] for s in range(4)]
    return {"start": [0, 1, 0, 0], "update": update, "control": [0, 0, 1, 2], "num_actions": 3}


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.label)
def test_so_many_agent_states_suffice(probe):
    environment = make_finite(probe.environment, **probe.options)
    controller = controller_for(environment)
    assert len(controller["control"]) == probe.fewest_states
    tables = KernelTables.deterministic(**controller)
    found = exact_returns(environment.model, tables, horizon=environment.max_steps, discount=0.99)
    np.testing.assert_allclose(found.undiscounted, probe.optimum, rtol=1e-5)
