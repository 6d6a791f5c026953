"""Executors: where the jobs of a study run."""

from asmpg.studies.executors._executor import Executor as Executor
from asmpg.studies.executors._executor import Handle as Handle
from asmpg.studies.executors._executor import worker_command as worker_command
from asmpg.studies.executors._futures import FuturesExecutor as FuturesExecutor
from asmpg.studies.executors._local import LocalExecutor as LocalExecutor
from asmpg.studies.executors._local import ProcessHandle as ProcessHandle
from asmpg.studies.executors._registry import executor_names as executor_names
from asmpg.studies.executors._registry import make_executor as make_executor
from asmpg.studies.executors._registry import register_executor as register_executor
from asmpg.studies.executors._remote import Launched as Launched
from asmpg.studies.executors._remote import RemoteExecutor as RemoteExecutor
from asmpg.studies.executors._settings import ExecutorSettings as ExecutorSettings
