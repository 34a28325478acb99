"""
Derive a program's command-line flags from a documented dataclass, so `--help` always matches the code.

The field `max_rows: int = 10` becomes the flag `--max-rows`, and the docstring below the field becomes the help text.
"""

import argparse
import ast
import inspect
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields
from itertools import pairwise
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def arguments_of(
    kind: type[T],
    arguments: Sequence[str] | None = None,
    *,
    program: str,
    description: str,
    example: str,
    fixed: Mapping[str, Any] | None = None,
    presets: Mapping[str, Mapping[str, Any]] | None = None,
) -> T:
    """
    Parse a command line into an instance of the dataclass `kind`.

    If an argument is invalid or the constructor raises ValueError, the program exits with status 2 and prints its
    usage. A field in `fixed` takes its value from `fixed` and has no flag. `presets` maps a flag such as `quick` to the
    values that replace the defaults if the user passes this flag. With the key `rate 500`, the values replace the
    defaults if the user passes `--rate` with a value of 500 or more.
    """
    parser = argparse.ArgumentParser(
        prog=program,
        description=description,
        epilog=f"example: {example}",
        # Keep the line breaks of the description and of the example.
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    fixed, presets, texts = fixed or {}, presets or {}, docstrings_of(kind)
    types = get_type_hints(kind)
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name not in fixed:
            text = f"{texts.get(field.name, '')}{_default(field, presets)}".replace("%", "%%")
            required = field.default is MISSING and field.default_factory is MISSING
            flag, options = f"--{field.name.replace('_', '-')}", _options(field, types[field.name])
            parser.add_argument(flag, default=argparse.SUPPRESS, required=required, help=text, **options)
    parsed = vars(parser.parse_args(arguments))
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in parsed.items()}
    try:
        chosen = [values for condition, values in presets.items() if _is_met(condition, given)]
        return kind(**{name: value for values in (*chosen, fixed, given) for name, value in values.items()})
    except ValueError as error:
        parser.error(str(error))


def docstrings_of(kind: type) -> dict[str, str]:
    """Return the first paragraph of the docstring below each field of a class and its bases, keyed by field name."""
    texts = dict[str, str]()
    for base in reversed(kind.__mro__[:-1]):
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        statements = body.body if isinstance(body, ast.ClassDef) else []
        for field, note in pairwise(statements):
            if isinstance(field, ast.AnnAssign) and isinstance(note, ast.Expr) and isinstance(note.value, ast.Constant):
                text = inspect.cleandoc(str(note.value.value)).partition("\n\n")[0]
                texts[ast.unparse(field.target)] = " ".join(text.split())
    return texts


def _options(field: "Field[Any]", kind: Any) -> dict[str, Any]:
    """Return the keyword arguments of `add_argument` for a field."""
    if kind is bool:
        return {"action": argparse.BooleanOptionalAction if field.default is True else "store_true"}
    if get_origin(kind) in {Union, UnionType}:
        (kind,) = (part for part in get_args(kind) if part is not NoneType)
    if get_origin(kind) is tuple:
        # `--rates 1 2` and `--rates 1 --rates 2` are equivalent.
        return {"nargs": "+", "action": "extend", **_options(field, get_args(kind)[0])}
    if get_origin(kind) is Literal:
        return {"choices": get_args(kind)}
    return {"type": kind, "metavar": _metavar(field.name, kind)}


def _metavar(name: str, kind: Any) -> str:
    words = {"seconds": "SECONDS", "duration": "SECONDS", "dir": "DIR"}
    return words.get(name.rpartition("_")[2], "TEXT" if kind is str else "N")


def _is_met(condition: str, given: Mapping[str, Any]) -> bool:
    flag, _, least = condition.partition(" ")
    return flag in given and bool(given[flag] >= float(least) if least else given[flag])


def _default(field: "Field[Any]", presets: Mapping[str, Mapping[str, Any]]) -> str:
    if isinstance(field.default, bool) or field.default in (MISSING, None, "", ()):
        return ""
    others = [
        f"; with --{condition.replace('_', '-')}{' or more' if ' ' in condition else ''}: {_text(preset[field.name])}"
        for condition, preset in presets.items()
        if preset.get(field.name, field.default) != field.default
    ]
    return f" (default: {_text(field.default)}{''.join(others)})"


def _text(value: Any) -> str:
    values = value if isinstance(value, tuple) else (value,)
    return " ".join(f"{one:g}" if isinstance(one, float) else str(one) for one in values)
