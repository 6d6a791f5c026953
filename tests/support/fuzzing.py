"""Damaged files by the thousand: what reads them must refuse them in one line, or be right.

`python tests/support/fuzzing.py 10000` tries so many; `test_damaged_files.py` tries fewer.
"""

import collections
import contextlib
import dataclasses
import importlib
import io
import json
import random
import signal
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from asmpg.agents import load, read_recipe
from asmpg.analysis import read_lines
from asmpg.runs import RunFolder, load_checkpoint, raw
from asmpg.studies import StudyFolder, parse_study, read_study, study_text
from asmpg.training import train
from runs import SEEDS, small_config, timeless
from studies import TINY, prepare

#: What JSON-aware mutations put in the place of a value.
_VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 7, 2**31, 2**63, 10**30, 10**400, 0.5, -0.0, 1e308),
    *(float("nan"), float("inf"), "", "x", "-1", "é\n", "\ud800", "evil_module:CartPole-v1"),
    *("CartPole-v1", "../..", "x" * 5000, [], {}, [1], [[]], {"": 0}, [1, "a"], {"reader": {}}),
)
#: What is put into texts and archives.
_BYTES = (b'"', b"\n", b"\0", b"\xff\xfe", b",", b"{", b"[" * 50_000, b"9" * 5000, b"\xe2\x80\xa8")


@dataclasses.dataclass(frozen=True)
class Target:
    """A file; `read` reads all that depends on it, `edit` changes the JSON or TOML in it.

    What `read` gives is equal for equal contents; `exact` says that nothing else will do.
    """

    path: Path
    read: Callable[[], Any]
    edit: Callable[[bytes, random.Random], bytes] | None = None
    exact: bool = False


def mutate(content: bytes, chance: random.Random) -> bytes:
    """Flip, cut, insert, delete, swap, repeat or overwrite something."""
    begin, end = sorted(chance.randrange(len(content) + 1) for _ in range(2))
    near = min(end, begin + chance.randrange(1, 9))
    match chance.randrange(8):
        case 0:
            place = chance.randrange(len(content))
            flipped = bytes([content[place] ^ 1 << chance.randrange(8)])
            return content[:place] + flipped + content[place + 1 :]
        case 1:
            return content[:begin]
        case 2:
            return content[:begin] + chance.choice(_BYTES) + content[begin:]
        case 3:
            return content[:begin] + content[near:]
        case 4:
            middle = (begin + end) // 2
            return content[:begin] + content[middle:end] + content[begin:middle] + content[end:]
        case 5:
            return content[:end] + content[begin:]
        case 6:
            return content[:begin] + chance.randbytes(near - begin) + content[near:]
        case _:
            place = chance.randrange(len(content))
            return (
                content[:place] + chance.choice(b"0123456789.-e").to_bytes() + content[place + 1 :]
            )


def edit_json(content: bytes, chance: random.Random) -> bytes:
    """Change, remove, add or nest one value of a JSON document."""
    return json.dumps(_edited(json.loads(content), chance)).encode()


def edit_meta(content: bytes, chance: random.Random) -> bytes:
    """Change the JSON in a checkpoint, and leave the archive whole."""
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        entries = {name: archive[name] for name in archive.files}
    entries["_meta"] = np.frombuffer(edit_json(entries["_meta"].tobytes(), chance), np.uint8)
    return _archive(entries)


def edit_arrays(content: bytes, chance: random.Random) -> bytes:
    """Change what an archive says of its arrays: sizes, types, compression."""
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        victim, what = chance.choice(names), chance.randrange(5)
        with zipfile.ZipFile(written, "w") as other:
            for name in names:
                data = archive.read(name)
                kind = zipfile.ZIP_STORED
                if name == victim and what == 0:
                    data = data.replace(b"'shape': (", b"'shape': (99999999999, ")[: len(data)]
                elif name == victim and what == 1:
                    data = data.replace(b"'<f4'", b"'|O'  ").replace(b"'|u1'", b"'|O' ")
                elif name == victim and what == 2:
                    data, kind = bytes(50_000_000), zipfile.ZIP_DEFLATED
                elif name == victim and what == 3:
                    continue
                elif name == victim:
                    data = mutate(data, chance)
                other.writestr(name, data, kind)
    return written.getvalue()


def _archive(entries: dict[str, np.ndarray]) -> bytes:
    written = io.BytesIO()
    np.savez(written, allow_pickle=False, **entries)
    return written.getvalue()


def _edited(document: Any, chance: random.Random) -> Any:
    places = list(_places(document))
    holder, key = chance.choice(places)
    match chance.randrange(6):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[chance.choice(("evil", "seed", "interface", "environment"))] = holder[key]
        case 2:
            for _ in range(chance.choice((1, 40, 900))):
                holder[key] = [holder[key]]
        case 3 if isinstance(holder[key], int | float):
            holder[key] += chance.choice((1, -1, 0.5, 10**9))
        case _:
            holder[key] = chance.choice(_VALUES)
    return document


def _places(value: Any):
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(items):
        yield value, key
        if isinstance(item, dict | list) and item:
            yield from _places(item)


def make_targets(folder: Path) -> list[Target]:
    """One small run, its agent, and a study without runs; each file with what reads it."""
    result = train(small_config(), folder / "run", verbose=0)
    result.agent().save(folder / "agent.npz")
    study = prepare(folder / "study", read_study(_tables(), name="tiny"), text=TINY)
    session = {
        "began": "today",
        "wall_seconds": 1.0,
        "jobs_at_a_time": 2,
        "machine": {"processor": "x", "cores": 2, "memory_gib": None, "system": "Linux"},
        "made_with": {"asmpg": "0", "jax": "0", "python": "3", "commit": None},
        "jobs": {"a": {"seconds": 1.0, "attempts": 1, "status": "finished", "troubles": ["x"]}},
    }
    sessions, lines = study.path / "sessions" / "0001.json", study.path / "yardsticks.json"
    sessions.parent.mkdir()
    sessions.write_text(json.dumps(session))
    values = {"random": {"value": 0.1, "kind": "exact"}, "full_state": {"value": 1, "kind": "grid"}}
    lines.write_text(json.dumps({"X": {"score": "s", "options": {"a": 1}, "values": values}}))
    run, agent = folder / "run", folder / "agent.npz"
    like = eqx.filter_eval_shape(result.program.start, jnp.zeros((), jnp.int32))
    rows, acts = _Rows(run), _Acts(agent)
    checkpoints = [
        Target(path, lambda p=path, s=seed, w=which: _state(run, p, s, w, like), edit, exact)
        for seed, which in ((SEEDS[0], "last"), (SEEDS[1], "best"))
        for path in [RunFolder(run).checkpoint_path(seed, which)]
        for edit, exact in ((None, True), (edit_meta, False), (edit_arrays, False))
    ]
    return [
        Target(run / "config.json", rows.with_config, edit_json),
        Target(run / "metrics.csv", rows.read, exact=True),
        *checkpoints,
        Target(agent, acts.read, edit_meta),
        Target(agent, acts.read, edit_arrays),
        Target(study.path / "study.json", lambda: StudyFolder(study.path).study.jobs(), edit_json),
        Target(study.path / "study.toml", lambda: _toml(study.path / "study.toml")),
        Target(sessions, study.sessions, edit_json),
        Target(lines, lambda: read_lines(lines, "X", {"a": 1}, "s"), edit_json),
    ]


class _Rows:
    def __init__(self, run: Path):
        self.run = run

    def read(self) -> Any:
        return timeless(RunFolder(self.run).rows())

    def with_config(self) -> Any:
        folder = RunFolder(self.run)
        # Rows are another file's business, which is whole: they fit this configuration, or not.
        with contextlib.suppress(ValueError):
            folder.rows()
        folder.finished()
        return folder.config


class _Acts:
    """Reads an agent; its recipe is put together only where it is another one than before."""

    def __init__(self, path: Path):
        self.path = path
        self.recipe = read_recipe(path).to_dict()
        self.like = jax.eval_shape(lambda: load(path).learned)

    def read(self) -> Any:
        recipe = read_recipe(self.path)
        if json.dumps(recipe.to_dict()) != json.dumps(self.recipe):
            return load(self.path).num_states
        return _numbers(load_checkpoint(self.path, self.like)[0])


def _state(run: Path, path: Path, seed: int, which: Any, like: Any) -> Any:
    RunFolder(run).status(seed, which)
    return _numbers(load_checkpoint(path, like)[0])


def _numbers(tree: Any) -> list[bytes]:
    return [np.asarray(raw(leaf)).tobytes() for leaf in jax.tree.leaves(tree)]


def _toml(path: Path) -> Any:
    return parse_study(study_text(str(path)), name=str(path), check=lambda study: study.jobs())


def _tables() -> dict[str, Any]:
    import tomllib

    return tomllib.loads(TINY)


def fuzz(targets: list[Target], count: int, *, seed: int = 0) -> collections.Counter[str]:
    """Try `count` mutations in turn; an `AssertionError` tells what went wrong with which."""
    chance, found = random.Random(seed), collections.Counter()
    whole = {target.path: target.path.read_bytes() for target in targets}
    right = [target.read() for target in targets]
    # A mutated name may be one of Gymnasium's, which is looked up there.
    importlib.import_module("gymnasium")
    modules = set(sys.modules)
    for number in range(count):
        place = number % len(targets)
        target = targets[place]
        edit = target.edit if target.edit and chance.random() < 0.6 else mutate
        content = edit(whole[target.path], chance)
        target.path.write_bytes(content)
        outcome = _outcome(target, right[place], f"mutation {number} of {target.path.name}")
        found["unchanged" if content == whole[target.path] else outcome] += 1
        target.path.write_bytes(whole[target.path])
    new = set(sys.modules) - modules
    assert not new, f"imported: {new}"
    return found


def _outcome(target: Target, right: Any, what: str) -> str:
    try:
        value = target.read()
    except ValueError as error:
        message = str(error)
        assert "\n" not in message, f"{what}: more than a line: {message!r}"
        assert str(target.path) in message, f"{what}: does not name the file: {message!r}"
        assert len(message) < 2000, f"{what}: {len(message)} characters"
        return "refused"
    except Exception as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
    assert not target.exact or value == right, f"{what}: accepted, with other contents"
    return "harmless" if target.exact else "read"


def main(count: int) -> None:
    """Try so many mutations with limits on time and memory, and print one line."""
    import resource

    def stuck(*_: Any) -> None:
        raise TimeoutError("it took more than 10 seconds")

    signal.signal(signal.SIGALRM, stuck)
    with tempfile.TemporaryDirectory() as folder:
        targets = make_targets(Path(folder))
        for target in targets:
            read = target.read

            def limited(read: Any = read) -> Any:
                signal.alarm(10)
                try:
                    return read()
                finally:
                    signal.alarm(0)

            object.__setattr__(target, "read", limited)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 2**30, resource.RLIM_INFINITY))
        found = fuzz(targets, count)
    told = ", ".join(f"{number} {outcome}" for outcome, number in sorted(found.items()))
    print(f"{count} mutations of {len(targets)} kinds: {told}; no traceback, hang or import")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
