"""Everything behind the speed tables and the filter's figure, measured in one go on one machine.

    python benchmarks/speed.py results/speed/cpu     # on 2 idle CPU cores: twenty minutes
    python benchmarks/speed.py results/speed/h200    # on a GPU

Each part is a script or a command of its own and leaves one JSON file in the folder: what was
measured, the command, the machine, the commit and how long it took. `--parts` runs some of them.
Where the code was copied without its repository, `--commit` says of which commit it is.
`JAX_COMPILATION_CACHE_DIR` keeps what the scripts compile; `asmpg train` starts with an empty cache
all the same.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
#: Runs of `asmpg train`. The first of a row compiles, later ones find its programs.
RUNS = {
    "cpu": [
        ["CheeseMaze --steps 1024"] * 2,
        ["CheeseMaze --seeds 10 --steps 100000"] * 2,
    ],
    "gpu": [["CheeseMaze --seeds 1000 --steps 60000"] * 3],
}
#: Scripts and their arguments; what they write to `--json` is kept.
SCRIPTS = {
    "cpu": {
        "environments": "environments.py",
        "startup": "startup.py",
        "asmpg": "training.py",
        "filter": "filter.py --states 8",
        "host": "host.py",
    },
    "gpu": {
        "environments": "environments.py --no-gymnasium --seconds 0.2",
        "updates": "update.py --seeds 1000 10 --filters fused parallel sequential",
        "many-seeds": "training.py CheeseMaze --method asm-ppo --seeds 1000 --steps 60000",
        "many-seeds-longer": "training.py CheeseMaze --method asm-ppo --seeds 1000 --steps 300000",
        "asmpg": "training.py CheeseMaze --seeds 1000 --steps 100000",
        # Last what compiles for minutes.
        "filter": "filter.py --states 8 --repeats 5 --kinds 'fused, memory critic' "
        "'GRU-PPO, memory critic' GRU-PPO 'minGRU-PPO, linear critic' 'sequential, memory critic' "
        "'sequential, GRU critic' 'parallel, memory critic' 'parallel, linear critic'",
    },
}


def run_script(arguments: str, result: Path) -> dict[str, Any]:
    """What it writes to `result`, which stays there if it is stopped."""
    script, *rest = shlex.split(arguments)
    variables = dict(os.environ)
    if "JAX_COMPILATION_CACHE_DIR" not in variables:
        variables["ASMPG_COMPILE_CACHE"] = "off"
    command = [sys.executable, str(HERE / script), *rest, "--json", str(result)]
    subprocess.run(command, env=variables, check=True)
    found = json.loads(result.read_text())
    result.unlink()
    return {"command": f"python benchmarks/{arguments}", "found": found}


def run_command_line(runs: list[list[str]]) -> dict[str, Any]:
    """Seconds from the shell prompt to the next, one run after another."""
    variables = {name: value for name, value in os.environ.items() if "_CACHE_" not in name}
    found = []
    for row in runs:
        with tempfile.TemporaryDirectory() as folder:
            variables["ASMPG_COMPILE_CACHE"] = f"{folder}/programs"
            for number, run in enumerate(row):
                command = [sys.executable, "-m", "asmpg", "train", *run.split()]
                command += ["--out", f"{folder}/run-{number}"]
                began = time.perf_counter()
                subprocess.run(command, env=variables, check=True, stdout=sys.stderr)
                seconds = round(time.perf_counter() - began, 2)
                compiled = "found" if number else "compiled"
                print(f"asmpg train {run}: {seconds} s, programs {compiled}", flush=True)
                found.append({"run": run, "programs": compiled, "wall_seconds": seconds})
    return {"command": "asmpg train ...", "found": found}


def provenance() -> dict[str, Any]:
    """In a process of its own: one that looks at a GPU takes its memory."""
    code = "import json, json_results; print(json.dumps(json_results.provenance()))"
    command = [sys.executable, "-c", code]
    return json.loads(subprocess.check_output(command, cwd=HERE, text=True))


def main() -> None:
    about = provenance()
    kind = "cpu" if "cpu" in about["device"].lower() else "gpu"
    names = ["command-line", *SCRIPTS[kind]]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--parts", nargs="+", choices=names, default=names)
    parser.add_argument("--commit", default=about["commit"])
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.parts:
        print(f"==> {name}", flush=True)
        began = time.perf_counter()
        if name == "command-line":
            result = run_command_line(RUNS[kind])
        else:
            result = run_script(SCRIPTS[kind][name], arguments.folder / f"{name}.partial")
        about |= {"commit": arguments.commit, "date": time.strftime("%Y-%m-%d")}
        seconds = round(time.perf_counter() - began, 1)
        content = {"provenance": {**about, "wall_seconds": seconds}, **result}
        (arguments.folder / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
