"""
Write the one statement that upserts a batch.

What arrives are names and types of columns; what leaves is SQL that takes one array of values per column.
Real-time mode repeats rows after a restart: the statement lets a newer version pass and nothing else.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from psycopg import sql

TYPE_NAME = re.compile(r'[A-Za-z_"][\w." ]*(\(\d+(, ?\d+)?\)[\w ]*)?')


def check_target(table: Sequence[str], key: Sequence[str], columns: Mapping[str, str], version: str | None) -> None:
    """Refuse a target that no statement could be written for, with all reasons at once."""
    strange = sorted(name for name, type_name in columns.items() if not TYPE_NAME.fullmatch(type_name))
    problems = [
        text
        for text, is_wrong in (
            (f"table is {table!r}; give (schema, table)", isinstance(table, str) or len(table) != 2),
            (f"key is {key!r}; give a tuple of one column or more", isinstance(key, str) or not key),
            (f"key columns {sorted(set(key) - set(columns))} are not among the columns", not set(key) <= set(columns)),
            (f"version {version!r} is not among the columns", version not in (None, *columns)),
            (f"version {version!r} is part of the key, so it would never be compared", version in tuple(key)),
            ("a name is empty", "" in (*table, *columns)),
            (f"columns {strange} have no plain type name; an array belongs into a jsonb column", strange),
        )
        if is_wrong
    ]
    if problems:
        raise ValueError(f"table {table!r} cannot be upserted: {'; '.join(problems)}")


def upsert_statement(
    table: Sequence[str], key: Sequence[str], columns: Mapping[str, str], version: str | None
) -> bytes:
    """
    Return the statement; it takes one binary array per column.

    Arrays need one parameter per column however many rows there are, so the text never changes and stays prepared.
    """
    names = {name: _identifier(name) for name in columns}
    rest = [names[name] for name in columns if name not in key]
    update = sql.SQL("update set {} ").format(_listed(sql.SQL("{0} = excluded.{0}").format(name) for name in rest))
    guard: sql.Composable = sql.SQL("")
    if version is not None:
        guard = sql.SQL("where target.{0} is null or excluded.{0} > target.{0}").format(names[version])
    statement = sql.SQL(
        "insert into {table} as target ({names}) select * from unnest({arrays}) on conflict ({key}) do {action}"
    ).format(
        table=_identifier(*table),
        names=_listed(names.values()),
        # The types come from check_target, and a type has no other way into a statement.
        arrays=_listed(sql.SQL("%b::" + type_name + "[]") for type_name in columns.values()),
        key=_listed(names[name] for name in key),
        action=update + guard if rest else sql.SQL("nothing"),
    )
    return statement.as_bytes(None)


def _identifier(*names: str) -> sql.Identifier:
    # psycopg looks for placeholders inside quoted names too.
    return sql.Identifier(*(name.replace("%", "%%") for name in names))


def _listed(parts: Iterable[sql.Composable]) -> sql.Composed:
    return sql.SQL(", ").join(parts)
