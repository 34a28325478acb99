"""
Derive a program's command-line flags from a documented dataclass, so `--help` always matches the code.

The `max_rows: int = 10` field becomes the `--max-rows` flag, and the docstring below the field becomes the help text.
An `Argument` in the annotation supplies details that the type cannot express.
"""

import argparse
import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from itertools import pairwise
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
WHOLE = re.compile("[0-9]{1,9}")


@dataclass(frozen=True)
class Argument:
    """Describe a field's command-line argument, as in `Annotated[Path, Argument("FILE")]`."""

    metavar: str | None = None
    """Name of the value in the help text."""
    parse: Callable[[str], object] | None = None
    """Converts a string to a value or raises `argparse.ArgumentTypeError` (default: the field's type)."""
    choices: Iterable[str] | None = None
    is_positional: bool = False
    is_repeated: bool = False
    """Whether a flag takes one value and may be repeated. By default, a tuple's flag takes one or more values."""
    is_rest: bool = False
    """Whether the field takes the arguments after `--`."""


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
        # Keep the line breaks in the description and the example.
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    fixed, presets = fixed or {}, presets or {}
    add_arguments(parser, kind, fixed, presets)
    given = vars(parser.parse_args(arguments))
    chosen = [values for condition, values in presets.items() if _is_met(condition, given)]
    return built(parser, kind, {name: value for values in (*chosen, fixed, given) for name, value in values.items()})


def add_arguments(
    parser: argparse.ArgumentParser,
    kind: type,
    fixed: Iterable[str] = (),
    presets: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Add an argument for each field of `kind` that is not in `fixed`. The namespace lacks omitted arguments."""
    texts, types = docstrings_of(kind), get_type_hints(kind, include_extras=True)
    for field in fields(kind):
        form, given_type = _form(types[field.name])
        if field.name in fixed or form.is_rest:
            continue
        is_required = field.default is MISSING and field.default_factory is MISSING
        options = _options(field, given_type, form, is_required=is_required)
        text = f"{texts.get(field.name, '')}{_default(field, presets or {})}".replace("%", "%%")
        if form.is_positional:
            parser.add_argument(field.name, default=argparse.SUPPRESS, help=text, **options)
        else:
            flag = f"--{field.name.replace('_', '-')}"
            parser.add_argument(flag, default=argparse.SUPPRESS, required=is_required, help=text, **options)


def built(parser: argparse.ArgumentParser, kind: type[T], given: Mapping[str, Any]) -> T:
    """Return an instance of `kind` with the parsed values. Exit with status 2 if the constructor raises ValueError."""
    try:
        return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in given.items()})
    except ValueError as error:
        parser.error(str(error))


def rest_of(kind: type) -> str | None:
    """Return the name of the field that takes the arguments after `--`, or None."""
    types = get_type_hints(kind, include_extras=True)
    return next((field.name for field in fields(kind) if _form(types[field.name])[0].is_rest), None)


def whole_number(least: int) -> Callable[[str], int]:
    """Return a parser for integers from `least` to 999,999,999."""

    def parse(text: str) -> int:
        if not WHOLE.fullmatch(text) or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text[:99]!r} is not a whole number from {least} to 999,999,999")
        return int(text)

    return parse


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


def _form(kind: Any) -> tuple[Argument, Any]:
    """Return an annotation's `Argument` and its type."""
    if get_origin(kind) is not Annotated:
        return Argument(), kind
    kind, *notes = get_args(kind)
    return next(note for note in notes if isinstance(note, Argument)), kind


def _options(field: "Field[Any]", kind: Any, form: Argument, *, is_required: bool) -> dict[str, Any]:
    """Return a field's keyword arguments for `add_argument`."""
    if get_origin(kind) in {Union, UnionType}:
        (kind,) = (part for part in get_args(kind) if part is not NoneType)
    if kind is bool:
        return {"action": argparse.BooleanOptionalAction if field.default is True else "store_true"}
    several: dict[str, Any] = {}
    if get_origin(kind) is tuple and (form.parse is None or form.is_repeated or form.is_positional):
        kind = get_args(kind)[0]
        if form.is_positional:
            several = {"nargs": "+" if is_required else "*"}
        else:
            # `--rates 1 2` and `--rates 1 --rates 2` are equivalent.
            several = {"action": "append"} if form.is_repeated else {"nargs": "+", "action": "extend"}
    if choices := form.choices or (get_args(kind) if get_origin(kind) is Literal else None):
        return {**several, "choices": tuple(choices), "metavar": form.metavar}
    metavar = form.metavar or (None if form.is_positional else _metavar(field.name, kind))
    return {**several, "type": form.parse or kind, "metavar": metavar}


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
