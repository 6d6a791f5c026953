"""The first minutes of a stranger: the pages followed to the letter, in a fresh environment.

    make stranger
    python scripts/stranger.py README.md docs/your-environment.md

A copy of what git tracks, an empty virtual environment, an empty cache. The commands and Python
blocks are taken out of the pages and run in their order; the blocks of a page share their names.
Prints how long each takes, and stops at the first that fails.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[1]
#: What is not for the first minutes: it runs all the tests.
LATER = ("make test",)
#: Runs blocks, one JSON string a line, in one set of names; answers each with a line.
READER = """
import contextlib, json, sys
names = {"__name__": "__main__"}
for line in sys.stdin:
    with contextlib.redirect_stdout(sys.stderr):
        exec(compile(json.loads(line), "block", "exec"), names)
    print("done", flush=True)
"""


def main() -> None:
    """Follow the pages."""
    parser = argparse.ArgumentParser(description="Follow the pages as a stranger would.")
    pages = ["README.md", "docs/index.md", "docs/your-environment.md"]
    parser.add_argument("pages", nargs="*", default=pages)
    parser.add_argument("--python", default=sys.executable, help="makes the environment")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="asmpg-stranger-") as name:
        folder = Path(name)
        checkout = copy_of_the_project(folder / "asmpg")
        subprocess.run([given.python, "-m", "venv", folder / "environment"], check=True)
        log = folder / "log"
        began = time.perf_counter()
        with log.open("w") as output:
            for page in given.pages:
                stranger = Stranger(checkout, folder, output)
                for language, block in blocks(checkout / page):
                    follow(page, language, block, stranger, log)
                stranger.leave()
        print(f"{time.perf_counter() - began:7.1f} s  in all")


def copy_of_the_project(target: Path) -> Path:
    """The files that git tracks, and new ones that it does not ignore, as they are now."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    return target


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """The language and the text of each block: every command of a shell block is one."""
    for language, text in re.findall(r"```(sh|python)\n(.*?)```", page.read_text(), re.DOTALL):
        if language == "python":
            yield language, text
            continue
        for line in text.replace("\\\n", " ").splitlines():
            if words := shlex.split(line, comments=True):
                yield language, shlex.join(words)


class Stranger:
    """Somebody with an empty environment, who starts Python once on each page."""

    def __init__(self, checkout: Path, folder: Path, output: IO[str]):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        path = f"{folder / 'environment' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        cache = str(folder / "cache")
        given = {"PATH": path, "XDG_CACHE_HOME": cache, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        self.settings: dict[str, Any] = {
            "cwd": checkout,
            "env": kept | given,
            "stderr": output,
            "text": True,
        }
        self.output = output
        self.python: subprocess.Popen[str] | None = None

    def command(self, text: str) -> bool:
        """Run a command; did it work?"""
        done = subprocess.run(
            ["bash", "-c", text], stdout=self.output, check=False, **self.settings
        )
        return done.returncode == 0

    def block(self, text: str) -> bool:
        """Run a block in the Python of this page; did it work?"""
        if self.python is None:
            self.python = subprocess.Popen(
                ["bash", "-c", 'exec python -c "$0"', READER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                **self.settings,
            )
        assert self.python.stdin is not None
        assert self.python.stdout is not None
        self.python.stdin.write(json.dumps(text) + "\n")
        self.python.stdin.flush()
        return self.python.stdout.readline() == "done\n"

    def leave(self) -> None:
        """Close the Python of the page."""
        if self.python is not None:
            self.python.communicate()


def follow(page: str, language: str, text: str, stranger: Stranger, log: Path) -> None:
    """Run one block or command, say how long it took, and stop the script if it failed."""
    told = text if language == "sh" else "Python: " + text.strip().splitlines()[-1].strip()
    if text in LATER:
        print(f"{'later':>9}  {page}: {told}", flush=True)
        return
    before, began = log.stat().st_size, time.perf_counter()
    worked = stranger.command(text) if language == "sh" else stranger.block(text)
    print(f"{time.perf_counter() - began:7.1f} s  {page}: {told}", flush=True)
    if not worked:
        stranger.leave()
        said = log.read_bytes()[before:].decode(errors="replace")
        sys.exit(f"{page}: this failed:\n\n{text}\n\n{said[-4000:]}")


if __name__ == "__main__":
    main()
