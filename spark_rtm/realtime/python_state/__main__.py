"""The daemon of Python workers for `python_state.scala`, which forks a process for each task."""

import sys
from types import ModuleType
from typing import Any

from pyspark.daemon import manager

from .worker import serve

if __name__ == "__main__":
    # A forked process imports a module `pyspark.worker` and calls its `main`.
    worker: Any = ModuleType("pyspark.worker")
    worker.main = serve
    sys.modules["pyspark.worker"] = worker
    manager()
