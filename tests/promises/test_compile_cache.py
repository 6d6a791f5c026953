"""What was compiled once is kept for the next process, where users can see it and switch it off."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from asmpg._support import compile_cache
from asmpg._support.compile_cache import use_compile_cache
from asmpg.cli import main

#: JAX's settings, as they are where nobody has changed them.
DEFAULTS = {
    "jax_compilation_cache_dir": None,
    "jax_enable_compilation_cache": True,
    "jax_persistent_cache_min_compile_time_secs": 1.0,
}


@pytest.fixture
def caches(tmp_path, monkeypatch):
    """A cache folder of the user's, and JAX as it is in a fresh process."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.setenv(compile_cache.VARIABLE, "")
    before = {name: jax.config.values[name] for name in DEFAULTS}
    for name, value in DEFAULTS.items():
        jax.config.update(name, value)
    yield tmp_path / "caches"
    for name, value in before.items():
        jax.config.update(name, value)


def test_on_by_default_at_the_command_line(caches, monkeypatch):
    monkeypatch.setattr("asmpg.commands.train.show", lambda **given: None)
    main(["train", "CheeseMaze"])
    folder = Path(jax.config.values["jax_compilation_cache_dir"])
    assert folder.is_relative_to(caches / "asmpg" / "compiled")
    assert jax.config.values["jax_persistent_cache_min_compile_time_secs"] == 0
    if os.name == "posix":
        assert folder.stat().st_mode & 0o077 == 0


def test_off_by_the_option(caches, monkeypatch):
    monkeypatch.setattr("asmpg.commands.train.show", lambda **given: None)
    main(["train", "CheeseMaze", "--no-compile-cache"])
    assert use_compile_cache() is None
    assert jax.config.values["jax_compilation_cache_dir"] is None
    assert not caches.exists()


def test_off_or_elsewhere_by_the_variable(caches, monkeypatch, tmp_path):
    monkeypatch.setenv(compile_cache.VARIABLE, "OFF")
    assert use_compile_cache() is None
    monkeypatch.setenv(compile_cache.VARIABLE, str(tmp_path / "elsewhere"))
    assert use_compile_cache().parent == tmp_path / "elsewhere"
    assert not caches.exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [("jax_compilation_cache_dir", "mine"), ("jax_enable_compilation_cache", False)],
)
def test_what_a_program_set_is_kept(caches, name, value):
    jax.config.update(name, value)
    assert use_compile_cache() is None
    assert {key: jax.config.values[key] for key in DEFAULTS} == {**DEFAULTS, name: value}
    assert not caches.exists()


def test_the_least_time_that_a_program_set_is_kept(caches):
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 3.0)
    assert use_compile_cache() is not None
    assert jax.config.values["jax_persistent_cache_min_compile_time_secs"] == 3


def test_silently_off_where_nothing_can_be_written(caches, capfd):
    caches.write_text("a file in the way")
    assert use_compile_cache() is None
    caches.unlink()
    caches.mkdir(mode=0o500)
    if os.geteuid():
        assert use_compile_cache() is None
    assert capfd.readouterr().err == ""


def test_silently_off_without_a_home(caches, monkeypatch):
    def nobody():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", nobody)
    assert use_compile_cache() is None


def test_what_was_not_used_for_longest_goes_first(caches, monkeypatch):
    folder = use_compile_cache()
    jax.config.update("jax_compilation_cache_dir", None)
    for age in range(8):
        (folder / f"{age}-cache").write_bytes(bytes(100))
        os.utime(folder / f"{age}-cache", (1e9 - age, 1e9 - age))
    monkeypatch.setattr(compile_cache, "MOST_BYTES", 800)
    use_compile_cache()
    assert len(list(folder.iterdir())) == 8
    jax.config.update("jax_compilation_cache_dir", None)
    monkeypatch.setattr(compile_cache, "MOST_BYTES", 600)
    use_compile_cache()
    assert sorted(path.name for path in folder.iterdir()) == [f"{age}-cache" for age in range(4)]


def test_a_second_process_compiles_nothing(tmp_path):
    """Nor does importing the package create anything."""
    code = (
        "import collections, json, os, sys, jax, asmpg, asmpg.training\n"
        "assert not os.path.exists(os.environ['XDG_CACHE_HOME']) or sys.argv[1] == 'again'\n"
        "seen = collections.Counter()\n"
        "jax.monitoring.register_event_listener(lambda name, **_: seen.update([name]))\n"
        "method = asmpg.ASMPG(policy='tabular', num_states=2)\n"
        "asmpg.learn(method, 'CheeseMaze', steps=50, evaluation_episodes=2, verbose=0,\n"
        "            environment_options={'max_steps': 20})\n"
        "names = [f'/jax/compilation_cache/cache_{kind}' for kind in ('hits', 'misses')]\n"
        "print(json.dumps([seen[name] for name in names]))"
    )
    environment = {name: value for name, value in os.environ.items() if "_CACHE_" not in name}
    environment["XDG_CACHE_HOME"] = str(tmp_path / "caches")

    def hits_and_misses(which):
        command = [sys.executable, "-W", "error", "-c", code, which]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    hits, misses = hits_and_misses("first")
    assert misses > 2
    assert hits_and_misses("again") == [hits + misses, 0]
