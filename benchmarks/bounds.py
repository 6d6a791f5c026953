"""How tight bounds on the best value get within a minute of one core, file by file.

    python benchmarks/bounds.py FILE ... [--seconds 60] [--out results/cassandra/bounds.json]

Files with a discount of one, or with as many states as `--most-states`, are left out. What is in
`--out` already is kept: name fewer files to do them again. Time is that of the processor, whatever
else the machine does.
"""

import argparse
import json
import time
from pathlib import Path

from asmpg.environments.pomdp_files import read_pomdp
from asmpg.exact._point_based import PointBasedSearch
from asmpg.exact._sparse_process import SparseProcess
from json_results import provenance

#: Bounds that are this close, relatively, are close enough.
GAP = 0.001


def main() -> None:
    parser = argparse.ArgumentParser(description="How tight bounds get within a minute.")
    parser.add_argument("paths", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--most-states", type=int, default=50)
    parser.add_argument("--out", type=Path, default=Path("results/cassandra/bounds.json"))
    arguments = parser.parse_args()
    known = json.loads(arguments.out.read_text())["files"] if arguments.out.exists() else {}
    for path in arguments.paths:
        model = read_pomdp(path)
        if len(model.states) >= arguments.most_states or model.discount == 1:
            continue
        began, trials = time.process_time(), 0
        search = PointBasedSearch(SparseProcess.of(model.finite(), model.discount))
        while time.process_time() - began < arguments.seconds:
            lower, upper = search.lower, search.upper
            if upper - lower <= GAP * max(abs(lower), abs(upper)):
                break
            search.trial()
            trials += 1
        known[path.stem] = {
            "states": len(model.states),
            "actions": len(model.actions),
            "observations": len(model.observations),
            "discount": model.discount,
            "lower": search.lower,
            "upper": search.upper,
            "cpu_seconds": round(time.process_time() - began, 1),
            "trials": trials,
        }
        print(path.stem, known[path.stem], flush=True)
        whole = {"provenance": provenance(), "files": dict(sorted(known.items()))}
        arguments.out.write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main()
