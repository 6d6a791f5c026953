"""`device=`: where compiled programs run."""

import threading

import jax
import jax.numpy as jnp
import pytest

import asmpg
from asmpg._support.devices import current_device, on_device
from asmpg.cli import main
from asmpg.training import train
from runs import small_config


def chosen():
    return getattr(jax.config, "jax_default_device")  # noqa: B009


def test_all_threads_compute_there_and_afterwards_as_before():
    found = []
    device = jax.devices("cpu")[0]
    for given in ("cpu", "cpu:0", device):
        with on_device(given):
            assert current_device() == device
            thread = threading.Thread(target=lambda: found.append(jnp.zeros(()).devices()))
            thread.start()
            thread.join()
            assert chosen() == device
        assert chosen() is None
    assert found == [{device}] * 3
    with pytest.raises(KeyError), on_device("cpu"):
        raise KeyError
    assert chosen() is None


def test_learn_and_train_take_it():
    seen = []

    class Look(asmpg.Callback):
        def on_evaluation(self, seed, row):
            seen.append(chosen())
            return False

    train(small_config(), device="cpu", callbacks=[Look()], verbose=0)
    assert seen[0] == jax.devices("cpu")[0]


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize("device", ["cuda:0", "cpu:99", "abacus", "", 0])
def test_one_that_is_not_there(device):
    with pytest.raises(ValueError, match=r"device must be .*cpu:0.*, got .*jax\[cuda13\]"):
        train(small_config(), device=device)
    with pytest.raises(ValueError, match="device must be"):
        asmpg.learn("CheeseMaze", device=device)


def test_the_command_line(capsys, tmp_path):
    with pytest.raises(SystemExit):
        main(["train", "CheeseMaze", "--device", "cuda:7", "--out", str(tmp_path / "run")])
    assert "device must be" in capsys.readouterr().err
