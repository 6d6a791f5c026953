"""A study on dask's `LocalCluster`, one of whose two workers is killed with -9 in the middle.

    pip install dask distributed && python benchmarks/engines/dask_cluster.py --out /tmp/dask

Then it runs on this machine, and the tables of both are compared byte for byte.
"""

import argparse
import filecmp
import importlib
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import asmpg

STUDY = Path(__file__).with_name("study.toml")


def kill_a_worker(client: Any, out: Path) -> None:
    """As soon as there is a checkpoint."""
    while not any(out.glob("runs/*/*/*/checkpoints/*/last.npz")):
        time.sleep(0.1)
    worker = next(iter(client.run(os.getpid).values()))
    print(f"Killing worker {worker} with -9")
    os.kill(worker, signal.SIGKILL)


def main() -> None:
    parser = argparse.ArgumentParser(description="A study on dask, one worker of which is killed.")
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out

    distributed = importlib.import_module("distributed")
    workers = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**workers) as cluster, cluster.get_client() as client:
        threading.Thread(target=kill_a_worker, args=(client, out / "dask"), daemon=True).start()
        asmpg.study(STUDY, out=out / "dask", executor=client.get_executor(), jobs=2)
    asmpg.study(STUDY, out=out / "local", device="cpu", quiet=True)

    tables = sorted(file.name for file in (out / "local" / "tables").iterdir())
    _, different, missing = filecmp.cmpfiles(
        out / "local" / "tables", out / "dask" / "tables", tables, shallow=False
    )
    assert not different, different
    assert not missing, missing
    print(f"{len(tables)} tables are those of a local run, byte for byte")


if __name__ == "__main__":
    main()
