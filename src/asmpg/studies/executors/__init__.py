"""Where jobs run."""

from asmpg.studies.executors._executor import Executor as Executor
from asmpg.studies.executors._executor import Handle as Handle
from asmpg.studies.executors._local import LocalExecutor as LocalExecutor
