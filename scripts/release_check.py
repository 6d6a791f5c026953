"""Build the package, look into it, and train with it in fresh environments, on every Python here.

    make release-check
    python scripts/release_check.py --pythons python3.11 python3.13

Everything happens in a temporary folder; `--keep FOLDER` leaves sdist and wheel there. Fails if
something useless is in the wheel, or if it does not install, train, show and export.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: The most that a wheel may weigh, and any file in it, in bytes.
MOST, MOST_EACH = 1_000_000, 100_000
#: What may be in it beside Python: data that the package reads, and what wheels are made of.
KINDS = (".py", ".typed", ".toml", ".pomdp", ".json", ".css", ".js", ".html", ".md")
NEEDED = ("README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "pyproject.toml")

TRAINING = """
import asmpg
agent = asmpg.ASMPPO(num_states=4).learn("asmpg/CheeseMaze-v0", steps=5_000, verbose=0)
machine = agent.machine().harden().minimise()
agent.save("agent.npz")
machine.plot("machine.svg")
assert asmpg.load("agent.npz").predict(4)[0] in range(4)
print(asmpg.__version__, agent.result.rows[-1]["exact_reward_per_step"])
"""


def main() -> None:
    """Build, look, install, train."""
    parser = argparse.ArgumentParser(description="Is the package ready to be published?")
    parser.add_argument("--pythons", nargs="*", help="those on the path, if left out")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="put sdist and wheel there")
    given = parser.parse_args()
    pythons = given.pythons or claimed_pythons()
    print("Pythons:", ", ".join(pythons))
    with tempfile.TemporaryDirectory(prefix="asmpg-release-") as name:
        folder = Path(name)
        wheel = build(folder)
        look_into(wheel)
        for python in pythons:
            try_out(wheel, python, folder / f"with-{Path(python).name}")
        if given.keep:
            shutil.copytree(folder / "dist", given.keep, dirs_exist_ok=True)


def claimed_pythons() -> list[str]:
    """The Pythons of the classifiers that are on the path and start."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    prefix = "Programming Language :: Python :: 3."
    claimed = [
        f"python3.{line.removeprefix(prefix)}"
        for line in project["classifiers"]
        if line.startswith(prefix)
    ]
    starts = [
        python
        for python in claimed
        if shutil.which(python)
        and subprocess.run([python, "-V"], capture_output=True, check=False).returncode == 0
    ]
    for python in set(claimed) - set(starts):
        print(f"Not tried, as it is not here: {python}")
    return starts


def build(folder: Path) -> Path:
    """An sdist, and a wheel that is made of it."""
    python = environment(sys.executable, folder / "builder", "build")
    run([python, "-m", "build", "--outdir", folder / "dist", ROOT], folder)
    (wheel,) = (folder / "dist").glob("*.whl")
    (sdist,) = (folder / "dist").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[-1] for name in archive.getnames()}
    missing = set(NEEDED) - names
    if missing:
        sys.exit(f"{sdist.name} lacks {', '.join(sorted(missing))}")
    print(f"{sdist.name}: {sdist.stat().st_size / 1e3:.0f} kB, {len(names)} files")
    return wheel


def look_into(wheel: Path) -> None:
    """Print its size and its largest files; nothing large or strange may be inside."""
    with zipfile.ZipFile(wheel) as archive:
        files = archive.infolist()
    weight, unpacked = wheel.stat().st_size, sum(file.file_size for file in files)
    print(
        f"{wheel.name}: {weight / 1e3:.0f} kB, {len(files)} files, {unpacked / 1e6:.1f} MB on disk"
    )
    for file in sorted(files, key=lambda file: -file.file_size)[:5]:
        print(f"  {file.file_size / 1e3:6.1f} kB  {file.filename}")
    inside = [file for file in files if ".dist-info/" not in file.filename]
    strange = [file.filename for file in inside if Path(file.filename).suffix not in KINDS]
    large = [file.filename for file in inside if file.file_size > MOST_EACH]
    if strange or large or weight > MOST:
        sys.exit(f"{wheel.name} is too large, or has what it should not have: {strange + large}")


def try_out(wheel: Path, python: str, folder: Path) -> None:
    """Install it as a user does, without our constraints, and use it in an empty folder."""
    folder.mkdir()
    began = time.perf_counter()
    fresh = environment(python, folder / "environment", wheel)
    installed = time.perf_counter()
    elsewhere = folder / "empty"
    elsewhere.mkdir()
    asmpg = fresh.with_name("asmpg")
    run([fresh, "-c", TRAINING], elsewhere)
    run([asmpg, "train", "MachineRepair", "--steps", "5000", "--quiet", "--out", "run"], elsewhere)
    run([asmpg, "show", "run", "--minimise"], elsewhere)
    run([fresh, "-m", "pip", "check"], elsewhere)
    done = time.perf_counter()
    print(f"{python}: installed in {installed - began:.0f} s, used for {done - installed:.0f} s")


def environment(python: str, folder: Path, package: str | Path) -> Path:
    """A virtual environment with a package; its Python."""
    run([python, "-m", "venv", folder], folder.parent)
    fresh = folder / "bin" / "python"
    run([fresh, "-m", "pip", "install", "--quiet", package], folder.parent)
    return fresh


def run(command: list[str | Path], folder: Path) -> None:
    """Run it there, without what this process was told about Python; stop if it fails."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    clean |= {"XDG_CACHE_HOME": str(folder / "cache"), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(
        command, cwd=folder, env=clean, capture_output=True, text=True, check=False
    )
    if done.returncode:
        words = " ".join(map(str, command))
        sys.exit(f"{words}\nfailed with {done.returncode}:\n{done.stdout}\n{done.stderr}")


if __name__ == "__main__":
    main()
