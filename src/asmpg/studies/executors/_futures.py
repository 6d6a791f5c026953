"""Any `concurrent.futures.Executor`: a process pool, dask's, Parsl's, mpi4py's."""

import concurrent.futures
from collections.abc import Callable
from typing import Any

from asmpg._support.errors import TrainingError
from asmpg._support.files import one_line
from asmpg._support.remote import call
from asmpg.studies.executors._remote import Launched, RemoteExecutor
from asmpg.studies.executors._settings import ExecutorSettings

#: How many jobs a pool that does not say its size is given at a time.
_MANY = 100

Pool = concurrent.futures.Executor


class FuturesExecutor(RemoteExecutor):
    """Submits jobs to `pool`, which queues what it cannot run yet.

    What each job gets is the pool's business; `settings.cpus` limits the threads. If a pool breaks,
    the study stops and can be resumed; a function that makes pools is asked for another one.

    >>> FuturesExecutor(lambda: ProcessPoolExecutor(4))
    """

    def __init__(self, pool: Pool | Callable[[], Pool], settings: ExecutorSettings | None = None):
        settings = settings or ExecutorSettings()
        settings.refuse("an object", "memory", "address", "options")
        self._make = None if isinstance(pool, Pool) else pool
        self._pool = _checked(pool if isinstance(pool, Pool) else pool())
        super().__init__(settings, slots=getattr(self._pool, "_max_workers", None) or _MANY)

    def launch(self, task: Callable[[], Any], name: str) -> Launched:
        try:
            return self._pool.submit(call, task)
        except RuntimeError as error:  # It is broken, or was shut down.
            if self._make is None:
                raise TrainingError(
                    f"the pool takes no more jobs: {one_line(error)}; what is done is kept, and "
                    "the same study resumes with a new pool"
                ) from error
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = self._make()
        return self._pool.submit(call, task)


def _checked(pool: object) -> Pool:
    if not isinstance(pool, Pool):
        raise ValueError(
            "pool must be a concurrent.futures.Executor, or a function that makes one, "
            f"got {pool!r}"
        )
    return pool
