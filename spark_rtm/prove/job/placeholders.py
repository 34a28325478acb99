"""Replace production services that a job uses: `dbutils`, running queries, missing modules and files."""

import contextlib
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NoReturn

from pyspark.sql import DataFrame, SparkSession

# A job that reads its query's status more often is waiting in a loop.
MAX_ASKED = 20
SECRET = "prove-secret"
"""Placeholder secret that the checks search for in plans, logs and checkpoints."""
# Pattern for names of classes, and of functions such as `connect` and `get_session`.
CLIENT = re.compile(r"[A-Z]|(?i:\w*(?:connect|client|session|cursor|create|build))")
ARGUMENT = re.compile(r"""\$(\w+)=(?:"([^"]*)"|'([^']*)'|(\S+))""")


class JobEndedError(BaseException):
    """Raised where a job would wait for its queries. A job's `except Exception` does not catch BaseException."""


def end_job(*_: object, **__: object) -> NoReturn:
    """End a job that would now wait for its queries or stop its session."""
    raise JobEndedError


class Started:
    """The query object that the job gets from `start()`."""

    name = id = "prove"
    asked = 0

    def __getattr__(self, name: str) -> Any:
        """Return the attribute's value for a starting query."""
        if name in {"isActive", "status", "lastProgress"}:
            self._ask()
        status = {"message": "Waiting for data to arrive", "isDataAvailable": False, "isTriggerActive": True}
        known = {"runId": self.id, "isActive": True, "status": status, "recentProgress": (), "exception": lambda: None}
        # A job may stop one query and start another.
        known |= {"awaitTermination": self._wait, "processAllAvailable": end_job, "stop": lambda: None}
        return known.get(name)

    def _wait(self, timeout: float | None = None) -> bool:
        if timeout is None:
            end_job()
        self._ask()
        return False

    def _ask(self) -> None:
        self.asked += 1
        if self.asked > MAX_ASKED:
            end_job()


class Anything:
    """A placeholder that has every attribute and accepts every call. Only placeholders for clients are true."""

    def __init__(self, name: str = "") -> None:
        self._name = name

    def __getattr__(self, name: str) -> "Anything":
        """Return another placeholder. Raise AttributeError for special methods, because libraries test for them."""
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(name)

    def __call__(self, *arguments: Any, **__: object) -> Any:
        """Return the placeholder or, if it is called as a decorator or with a session builder, its argument."""
        is_kept = len(arguments) == 1 and (callable(arguments[0]) or isinstance(arguments[0], SparkSession.Builder))
        return arguments[0] if is_kept else self

    def __getitem__(self, _key: object) -> "Anything":
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __bool__(self) -> bool:
        """Return whether the placeholder's name is that of a client."""
        return bool(CLIENT.match(self._name))

    def __str__(self) -> str:
        """Return a non-empty string, as paths require."""
        return "prove"

    __fspath__ = __str__

    def __enter__(self) -> "Anything":
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing."""


class Dbutils(Anything):
    """A `dbutils` replacement with the parts that jobs use. Other parts accept every call."""

    def __init__(self, exit_: Callable[..., Any] = lambda *_: None) -> None:
        super().__init__("Dbutils")
        self._widgets = dict[str, str]()
        self.secrets = SimpleNamespace(
            get=secret, getBytes=lambda *names: secret(*names).encode(), list=lambda *_: [], listScopes=list
        )
        self.widgets = SimpleNamespace(
            get=lambda name: self._widgets.get(name) or f"prove-{name}",
            getArgument=lambda name, default="": self._widgets.get(name) or default or f"prove-{name}",
            getAll=lambda: dict(self._widgets),
            **dict.fromkeys(("text", "dropdown", "combobox", "multiselect"), self._define),
            removeAll=self._widgets.clear,
            remove=lambda name: self._widgets.pop(name, None),
        )
        self.notebook = SimpleNamespace(exit=exit_, run=lambda *_, **__: "", entry_point=Anything())
        self.jobs = SimpleNamespace(taskValues=SimpleNamespace(get=_task_value, set=lambda *_, **__: None))

    def set_arguments(self, text: str) -> None:
        """Set the widgets that `%run ./other $name="value"` passes to the called notebook."""
        for name, *values in ARGUMENT.findall(text):
            self._widgets[name] = "".join(values)

    def _define(self, name: str, default: str = "", *_: object, **keywords: Any) -> None:
        self._widgets.setdefault(name, str(keywords.get("defaultValue", default)))


class _Modules(MetaPathFinder, Loader):
    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def find_spec(self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in self._names else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Anything(spec.name)  # type: ignore[return-value]

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing, because the placeholder module has no code."""


@contextlib.contextmanager
def placeholders_for(names: Collection[str]) -> Iterator[None]:
    """Replace missing packages with placeholders on import."""
    finder = _Modules(names)
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name, module in sys.modules.items() if isinstance(module, Anything)]:
            del sys.modules[name]


def display(rows: Any = None, *_: object, **options: Any) -> None:
    """Start a query for a stream that the job displays in real-time mode, without displaying rows."""
    # The job's code runs again on static rows, and must then start the same queries.
    if isinstance(rows, DataFrame) and "realTime" in options:
        writer = rows.writeStream.format("console").outputMode(options.get("outputMode", "update"))
        writer.trigger(realTime=options["realTime"]).start()  # type: ignore[call-overload]


def notebook_names(spark: SparkSession, dbutils: Dbutils) -> dict[str, Any]:
    """Return the names that a notebook can use without importing them."""
    return {
        "spark": spark,
        "sc": spark.sparkContext,
        "sql": spark.sql,
        "table": spark.table,
        "dbutils": dbutils,
        "getArgument": dbutils.widgets.getArgument,
        "display": display,
        "displayHTML": display,
    }


@contextlib.contextmanager
def databricks_modules(names: Mapping[str, Any]) -> Iterator[None]:
    """Provide replacements for Databricks modules that export `dbutils` or a session."""
    contents: dict[str, Mapping[str, Any]] = {
        "pyspark.dbutils": {"DBUtils": lambda *_: names["dbutils"]},
        "databricks.sdk.runtime": names,
        "databricks.connect": {"DatabricksSession": SparkSession},
    }
    before = {name: sys.modules.get(name) for name in contents}
    for name, content in contents.items():
        sys.modules[name] = ModuleType(name)
        vars(sys.modules[name]).update(content)
    try:
        yield
    finally:
        for name, module in before.items():
            sys.modules.pop(name)
            if module:
                sys.modules[name] = module


def open_of(folders: Sequence[Path], open_: Callable[..., Any]) -> Callable[..., Any]:
    """Return an `open` that reads files such as schemas from a job's folders, and writes to the current folder."""

    def find(file: Any, mode: str = "r", *arguments: Any, **named: Any) -> Any:
        if set(mode).isdisjoint("wax+"):
            return open_(file_in(folders, file), mode, *arguments, **named)
        if isinstance(file, str | os.PathLike) and file_in(folders, folder := Path(file).parent) != folder:
            folder.mkdir(parents=True)
        return open_(file, mode, *arguments, **named)

    return find


def placed(folders: Sequence[Path], read: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an `os` function such as `stat`, so that it finds files in the same folders as `open`."""
    return lambda path=".", *arguments, **named: read(file_in(folders, path), *arguments, **named)


def kept(folders: Sequence[Path], delete: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function that deletes files, so that it keeps files that `file_in` finds in the job's folders."""
    return lambda path, *more, **named: delete(path, *more, **named) if file_in(folders, path) == path else None


def file_in(folders: Sequence[Path], file: Any) -> Any:
    """Find a file in a job's folders, given by a relative path or a path below the current folder."""
    # `Path.exists` would call `os.stat`, which calls this function while a job runs.
    if not isinstance(file, str | os.PathLike) or os.access(file, os.F_OK):
        return file
    name = Path(file).relative_to(Path.cwd()) if Path(file).is_relative_to(Path.cwd()) else Path(file)
    return next((str(folder / name) for folder in folders if os.access(folder / name, os.F_OK)), file)


def _task_value(taskKey: str = "", key: str = "", default: Any = None, debugValue: Any = None) -> Any:  # noqa: N803
    del taskKey
    value = default if debugValue is None else debugValue
    return f"prove-{key}" if value is None else value


def secret(scope: str = "", key: str = "", **names: str) -> str:
    """Return a placeholder for a secret."""
    return f"{SECRET}-{names.get('scope', scope)}-{names.get('key', key)}"
