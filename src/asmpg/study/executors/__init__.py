"""Where jobs run."""

from asmpg.study.executors._device import Device as Device
from asmpg.study.executors._device import find_device as find_device
from asmpg.study.executors._executor import Executor as Executor
from asmpg.study.executors._executor import Handle as Handle
from asmpg.study.executors._local import LocalExecutor as LocalExecutor
