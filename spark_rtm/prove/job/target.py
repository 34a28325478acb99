"""Find the user's function, import it without writing to the user's folders, and choose names for its topics."""

import functools
import importlib
import importlib.util
import inspect
import json
import re
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

from pyspark import cloudpickle
from pyspark.sql import DataFrame

from spark_rtm.lint.files.notebooks import cells_of_json

RUN = "__run_notebook__"
MAGIC_RUN = re.compile(r"# MAGIC %run ")
OTHER_CELL = re.compile(r"\s*%(?:%(?!time|capture|python)\w|(?:md|sql|scala|r|sh|fs)\b)")


class TargetError(ValueError):
    """Raised if the target cannot be loaded."""


@dataclass(frozen=True)
class Job:
    """A file that starts its own queries, or a function for which `rtm prove` starts a query."""

    path: Path
    arguments: tuple[str, ...] = ()
    confs: Mapping[str, str] = field(default_factory=dict)
    """Settings from the job's cluster or from `spark-submit`."""
    side_effects: bool = False
    """Whether the job's batch writes run each time the job's code runs. Kafka writes always use the local broker."""
    folder: Path = field(default_factory=Path.cwd)
    function: str = ""
    """The function's name with an absolute path, so that another process can load it (empty for a file)."""
    line: int = 0
    topics: Mapping[str, str] = field(default_factory=dict)
    """The function's topics by parameter: first the stream's topic, then the tables' topics."""

    def parameter_of(self, topic: str) -> str:
        """Return the function parameter that reads a topic, or else the topic."""
        return next((name for name, read in self.topics.items() if read == topic), topic)


def code_of(path: Path) -> str:
    """
    Return a job's Python code. A notebook's lines keep their numbers.

    Magic lines and cells in other languages become comments, except that `%run` becomes a call to `RUN`.
    """
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        numbered = enumerate(text.splitlines(), 1)
        return "\n".join(_line(path, line[8:], n) if MAGIC_RUN.match(line) else line for n, line in numbered)
    code = list[str]()
    for lines in (lines for kind, lines in cells_of_json(text) if kind == "python"):
        is_other = bool(OTHER_CELL.match("\n".join(line for _, line in lines)))
        for number, line in lines:
            code += [""] * (number - 1 - len(code))
            code.append(f"# {line}" if is_other else _line(path, line, number))
    return "\n".join(code)


def _line(path: Path, line: str, number: int) -> str:
    words = line.strip()
    if words.startswith("%run "):
        return f"{RUN}({str(path)!r}, {number}, {words[5:]!r})"
    return f"# {line}" if words.startswith(("%", "!")) else line


def roots_of(job: Job) -> list[Path]:
    """Return a job's folders: the job's own, its package root, its project folder and `src`, and the current folder."""
    path, package = job.path, _outside_packages(job.path)
    markers = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
    project = next((folder for folder in path.parents if any((folder / name).exists() for name in markers)), package)
    return list(dict.fromkeys([path.parent, package, project, project / "src", job.folder]))


def package_of(path: Path) -> str:
    """Return a job's package for relative imports, or an empty string."""
    return ".".join(path.parent.relative_to(_outside_packages(path)).parts)


def _outside_packages(path: Path) -> Path:
    return next(folder for folder in path.parents if not (folder / "__init__.py").is_file())


def load(
    text: str, arguments: Sequence[str] = (), confs: Mapping[str, str] | None = None, *, side_effects: bool = False
) -> Job:
    """Load `path/job.py:function` or `package.module:function`, or the job `path/job.py` or `path/job.ipynb`."""
    if text.endswith((".py", ".ipynb")):
        _check_file(text)
        return Job(Path(text).resolve(), tuple(arguments), dict(confs or {}), side_effects)
    if arguments or confs:
        raise TargetError(
            f"{text!r} is a function, so job arguments and settings do not apply; pass the job's file instead"
        )
    named, function = _named(text)
    names, _ = _parameters(text, named, function)
    module, _, name = text.rpartition(":")
    prefix = f"prove-{uuid.uuid4().hex[:8]}"
    return Job(
        Path(inspect.getsourcefile(function) or module),
        function=f"{Path(module).resolve()}:{name}" if module.endswith(".py") else text,
        line=inspect.getsourcelines(function)[1],
        topics={name: f"{prefix}-{name}" for name in names},
    )


def function_of(job: Job) -> Callable[..., DataFrame]:
    """Return a job's function, with default values for the other parameters."""
    named, function = _named(job.function)
    _, defaults = _parameters(job.function, named, function)
    return functools.partial(named, **defaults)


def _named(text: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the object that a text such as `path/job.py:function` refers to, and the unwrapped function."""
    module_name, _, name = text.rpartition(":")
    if not module_name or not name.isidentifier():
        raise TargetError(
            f"{text!r} is neither a file nor a function; use path/job.py, path/job.py:FUNCTION or "
            "package.module:FUNCTION, where FUNCTION takes a streaming DataFrame of Kafka source rows and returns one "
            "of Kafka sink rows"
        )
    # Bytecode files would be written next to the user's code.
    sys.dont_write_bytecode = True
    module = _module(module_name)
    named = getattr(module, name, None)
    function = named.func if isinstance(named, functools.partial) else named
    if named is None or not inspect.isfunction(function):
        functions = sorted(
            n for n, f in vars(module).items() if inspect.isfunction(f) and f.__module__ == module.__name__
        )
        raise TargetError(f"{module_name!r} has no function {name!r}; it defines {', '.join(functions) or 'none'}")
    return named, function


def _parameters(text: str, named: Callable[..., Any], function: Callable[..., Any]) -> tuple[list[str], dict[str, Any]]:
    hints = _hints(function)
    parameters = inspect.signature(named).parameters.values()
    required = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    frames, others, defaults = list[str](), list[str](), dict[str, Any]()
    for name, hint in ((p.name, hints.get(p.name, DataFrame)) for p in required):
        if hint in (DataFrame, DataFrame.__name__):
            frames.append(name)
        elif isinstance(hint, type) and is_dataclass(hint) and _has_defaults(hint):
            defaults[name] = hint()
        else:
            others.append(name)
    if others:
        module, _, function_name = text.rpartition(":")
        raise TargetError(
            f"{text!r} has parameters that are neither DataFrames nor dataclasses with a default for every field: "
            f"{', '.join(others)}; bind them with `proved = functools.partial({function_name}, {others[0]}=...)` in a "
            f"module, and run prove on that name, for example {module}:proved"
        )
    if not frames:
        raise TargetError(f"{text!r} takes no DataFrame; its first parameter must be the stream of Kafka source rows")
    return frames, defaults


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function)
    except NameError:  # A type that the module imports only for type checking.
        return dict(function.__annotations__)


def _has_defaults(kind: type) -> bool:
    return all(p.default is not p.empty for p in inspect.signature(kind).parameters.values())


def _check_file(name: str) -> None:
    if not Path(name).is_file():
        reason = "is not a file" if Path(name).exists() else "does not exist"
        raise TargetError(f"{name!r} {reason}, so there is nothing to prove; check the path")


def _module(name: str) -> ModuleType:
    path = Path(name)
    folders = [Path.cwd()]
    if path.suffix == ".py":
        _check_file(name)
        folders.insert(0, path.resolve().parent)
    sys.path[:0] = [str(folder) for folder in folders if str(folder) not in sys.path]
    try:
        return _of_file(path) if path.suffix == ".py" else importlib.import_module(name)
    except Exception as error:
        raise TargetError(
            f"importing {name!r} failed with {type(error).__name__}: {error}; install what the module imports into the "
            f"virtual environment {sys.prefix!r}, and do not start a query at import"
        ) from error


def _of_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"{str(path)!r} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    # Python workers cannot import a module that was loaded from a file path.
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    return module


def subscribed(options: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Return a Kafka source's topics, and options that replace its topic pattern."""
    if "subscribePattern" in options:
        name = matching(options["subscribePattern"])
        # Without `^` and `$`, the pattern would also match the static rows' topic, whose name contains this name.
        return [name], {"subscribePattern": f"^{name.replace('.', '[.]')}$"}
    if "assign" in options:
        return list(json.loads(options["assign"])), {}
    return [name for name in options.get("subscribe", "").replace(" ", "").split(",") if name], {}


def matching(pattern: str) -> str:
    """Return a topic name that matches a pattern: the first alternative, with a letter for each wildcard."""
    text = re.sub(r"\((?:\?:)?([^()|]*)(?:\|[^()]*)?\)", r"\1", pattern.strip("^$")).partition("|")[0]
    text = re.sub(r"\[([^\]^\\])[^\]]*\][*+?]?|(?<!\\)\.[*+?]|\\[dw][*+?]?", lambda found: found[1] or "1", text)
    name = text.replace("\\.", ".")
    if not re.fullmatch(pattern, name):
        raise ValueError(f"no topic matches {pattern!r}; list the topics in the subscribe option")
    return name
