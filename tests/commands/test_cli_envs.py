"""`asmpg envs` tells people and machines what the environments are and what can be reached."""

import itertools
import json
import os
import re
import subprocess
import sys

import pytest

import asmpg
from asmpg.cli import main
from asmpg.exact import best_stochastic_memoryless
from finite import REFERENCE_VALUES
from quick import long

NAMES = [
    "CheeseMaze",
    "HallwayNavigation",
    "HealthcareTreatment",
    "MachineRepair",
    "VelocityOnlyCartPole",
]


@pytest.fixture(scope="module")
def listing():
    """What a user gets, from a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "asmpg.cli", "envs", "--json"],
        env={**os.environ, "JAX_DISABLE_MOST_OPTIMIZATIONS": "0"},
        capture_output=True,
        check=True,
    )
    return {entry["name"]: entry for entry in json.loads(done.stdout)}


def test_json_has_every_environment_and_every_value(listing):
    assert list(listing) == NAMES
    for name, entry in listing.items():
        assert entry["max_steps"] == 200
        assert {"observation", "actions", "r_max", "options"} <= set(entry)
        for kind in ("random", "memoryless", "history_optimal", "full_state"):
            value = entry["values"][kind]
            assert {"discounted", "undiscounted"} <= set(value)
            if name in ("CheeseMaze", "HallwayNavigation"):
                assert "reward_per_step" in value
    assert [listing[name]["r_max"] for name in NAMES] == [1, 5, 54, 1, 1]


def test_knowing_more_is_never_worth_less(listing):
    """Up to the noise of simulated values: three standard errors, or 0.3 at the most."""
    order = ["random", "memoryless", "history_optimal", "full_state"]
    for entry in listing.values():
        for criterion in ("discounted", "undiscounted"):
            values = [entry["values"][kind][criterion] for kind in order]
            assert all(after >= before - 0.3 for before, after in itertools.pairwise(values))


@pytest.mark.parametrize("name", REFERENCE_VALUES)
def test_values_of_the_finite_environments_are_exact(listing, name):
    for kind, expected in REFERENCE_VALUES[name].items():
        value = listing[name]["values"][kind]
        found = tuple(value[each] for each in ("discounted", "undiscounted", "reward_per_step"))
        assert found == pytest.approx(expected, abs=1e-6), kind


def test_values_of_the_real_valued_environments(listing):
    """The reference page: Monte Carlo and local search, so within its stated errors or better."""
    healthcare, cart_pole = (listing[n]["values"] for n in (NAMES[2], NAMES[4]))
    assert healthcare["random"]["discounted"] == pytest.approx(-27.2, abs=0.3)
    assert healthcare["random"]["undiscounted"] == pytest.approx(-54.1, abs=0.3)
    assert healthcare["memoryless"]["discounted"] >= 3.59 - 0.2
    assert healthcare["memoryless"]["undiscounted"] >= -1.49 - 0.3
    assert healthcare["full_state"]["discounted"] == pytest.approx(40.5, abs=0.4)
    assert healthcare["full_state"]["undiscounted"] == pytest.approx(51.9, abs=0.4)
    assert cart_pole["random"]["undiscounted"] == pytest.approx(22.24, abs=0.15)
    for kind in ("memoryless", "history_optimal", "full_state"):
        assert cart_pole[kind]["undiscounted"] == pytest.approx(200, abs=1e-6)
        assert cart_pole[kind]["discounted"] == pytest.approx(86.602033, abs=1e-6)


@pytest.fixture
def short_search(monkeypatch):
    def search(model, **options):
        return best_stochastic_memoryless(model, **options | {"restarts": 1})

    monkeypatch.setattr("asmpg.exact._yardsticks.best_stochastic_memoryless", search)


@pytest.mark.usefixtures("short_search")
@pytest.mark.long_running
@pytest.mark.parametrize("name", ["CheeseMaze", long("MachineRepair")])
def test_stored_values_are_what_the_solvers_say(listing, name):
    """But for the best memoryless policy, which is searched for less here."""
    (found,) = asmpg.envs(name, recompute=True)
    stored, computed = listing[name]["values"], found["values"]
    assert computed["memoryless"]["discounted"] <= stored["memoryless"]["discounted"] + 1e-9
    for kind in stored.keys() - {"memoryless"}:
        for criterion in ("discounted", "undiscounted", "reward_per_step"):
            assert computed[kind][criterion] == pytest.approx(stored[kind][criterion], abs=1e-9)


def test_one_environment_in_detail_with_pictures(capsys, tmp_path):
    (tmp_path / "yardsticks.png").write_text("that of all environments")
    main(["envs", "CheeseMaze", "--pictures", str(tmp_path)])
    shown = capsys.readouterr().out
    for raw in ("```", "{", "`"):
        assert raw not in shown
    assert re.search(r"goal_reward +1 *\n", shown)
    assert (tmp_path / "yardsticks.png").read_text() == "that of all environments"
    assert "north, south, east, west" in shown
    assert "0.9675" in shown
    assert "@" in shown
    assert {path.name for path in tmp_path.iterdir()} == {
        "CheeseMaze.png",
        "yardsticks.png",
        "yardsticks-CheeseMaze.png",
    }


def test_an_unknown_name_is_a_usage_error(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["envs", "ChesseMaze"])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert "did you mean CheeseMaze" in error
    assert error.count("\n") == 1


@pytest.mark.usefixtures("short_search")
@pytest.mark.long_running
@pytest.mark.long
def test_a_pomdp_file_is_shown_with_its_names_and_its_own_discount(capsys, tmp_path):
    """Walk five steps and turn, knowing the way half of the time: 1.9131876 at its 0.9."""
    main(["envs", "tmaze5.pomdp", "--pictures", str(tmp_path)])
    shown = capsys.readouterr().out
    assert "nothing yet" in shown
    assert "discount" in shown
    assert (tmp_path / "tmaze5.png").exists()
    values = asmpg.envs("tmaze5.pomdp")[0]["values"]
    assert values["history_optimal"]["discounted"] == pytest.approx(1.9131876, abs=1e-6)
