"""
Build the SQL statement that upserts a batch.

Spark repeats rows after a restart, so the statement replaces a row only with a newer version. An explicit cast to a
type with a length, such as `varchar(4)`, truncates a longer value without an error, so the statement uses types for
which PostgreSQL rejects such a value.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from psycopg import sql

TYPE_NAME = re.compile(r'[A-Za-z_"][\w." ]*(\(\d+(, ?\d+)?\)[\w ]*)?')
LENGTH = re.compile(r"\(.*\)")
TYPES_OF_LENGTH_1 = {
    **dict.fromkeys(("char", "character", "nchar", "national char", "national character"), "bpchar"),
    "bit": "bit varying",
}
"""Types with a default length of 1, and the corresponding types without a length."""
INTEGERS = ("smallint", "int2", "integer", "int", "int4", "bigint", "int8")
NUMBERS = frozenset((*INTEGERS, "numeric", "decimal", "real", "float4", "double precision", "float", "float8"))
TIMES = frozenset(
    ("date", "timestamp", "timestamp without time zone", "timestamptz", "timestamp with time zone"),
)
BUILT_IN_TYPES = NUMBERS | TIMES | {"text", "varchar", "bpchar", "boolean", "bool", "bytea", "uuid", "json", "jsonb"}
FIND_TRUNCATING_TYPES = """
select name from unnest(%s::text[]) as name join pg_type on pg_type.oid = to_regtype(name)
where typtype = 'd' or pg_type.oid in ('name'::regtype, '"char"'::regtype)
"""
"""Query for types that truncate values in a cast without an error: domains and two internal types."""
UNORDERED_VERSION = (
    "has the type {!r}, and Python and PostgreSQL may order its values differently; use a number, a date or a timestamp"
)
NO_VERSION = (
    "without a version, a delayed or repeated write can replace a newer row that was already acknowledged; pass "
    "`version`, or accept this with allow_reverts=True"
)


def cast_type(type_name: str) -> str:
    """Return the type without its length, so PostgreSQL checks each value against the column's own length."""
    name = " ".join(LENGTH.sub(" ", type_name).split())
    return TYPES_OF_LENGTH_1.get(name.lower(), name)


def types_to_check(columns: Mapping[str, str]) -> list[str]:
    """Return the types to look up on the server, because a cast to them may truncate values."""
    names = {cast_type(type_name) for type_name in columns.values()}
    return sorted(name for name in names if name.lower() not in BUILT_IN_TYPES)


def check_target(
    table: Sequence[str], key: Sequence[str], columns: Mapping[str, str], version: str | None, *, allow_reverts: bool
) -> None:
    """Raise ValueError with all the reasons why rows cannot be upserted into the table."""
    unsupported = sorted(name for name, type_name in columns.items() if not TYPE_NAME.fullmatch(type_name))
    version_type = cast_type(columns.get(version or "", "bigint")).lower()
    problems = [
        text
        for text, is_wrong in (
            (f"table is {table!r}, expected (schema, table)", isinstance(table, str) or len(table) != 2),
            (f"key is {key!r}, expected a tuple of at least one column", isinstance(key, str) or not key),
            (
                f"key columns {', '.join(map(repr, sorted(set(key) - set(columns))))} are not in `columns`",
                not set(key) <= set(columns),
            ),
            (f"version {version!r} is not in `columns`", version not in (None, *columns)),
            (f"version {version!r} is part of the key, so versions would never be compared", version in tuple(key)),
            (f"version {version!r} {UNORDERED_VERSION.format(version_type)}", version_type not in NUMBERS | TIMES),
            (NO_VERSION, version is None and not allow_reverts and not set(columns) <= set(key)),
            ("a table or column name is empty", "" in (*table, *columns)),
            (f"unsupported types for columns {unsupported}; store arrays as jsonb", unsupported),
        )
        if is_wrong
    ]
    if problems:
        raise ValueError(f"cannot upsert into table {table!r}: {'; '.join(problems)}")


def upsert_statement(
    table: Sequence[str], key: Sequence[str], columns: Mapping[str, str], version: str | None
) -> bytes:
    """
    Return the upsert statement, which takes one binary array per column.

    The number of parameters does not depend on the number of rows, so the statement never changes and stays prepared.
    """
    names = {name: _identifier(name) for name in columns}
    others = [names[name] for name in columns if name not in key]
    update = sql.SQL("update set {} ").format(_listed(sql.SQL("{0} = excluded.{0}").format(name) for name in others))
    guard: sql.Composable = sql.SQL("")
    if version is not None:
        guard = sql.SQL("where target.{0} is null or excluded.{0} > target.{0}").format(names[version])
    statement = sql.SQL(
        "insert into {table} as target ({names}) select * from unnest({arrays}) on conflict ({key}) do {action}"
    ).format(
        table=_identifier(*table),
        names=_listed(names.values()),
        # A type name can be neither a parameter nor an identifier, so insert the text that `check_target` validated.
        arrays=_listed(sql.SQL("%b::" + cast_type(type_name) + "[]") for type_name in columns.values()),
        key=_listed(names[name] for name in key),
        action=update + guard if others else sql.SQL("nothing"),
    )
    return statement.as_bytes(None)


def _identifier(*names: str) -> sql.Identifier:
    # psycopg looks for placeholders even inside quoted names, so percent signs are doubled.
    return sql.Identifier(*(name.replace("%", "%%") for name in names))


def _listed(parts: Iterable[sql.Composable]) -> sql.Composed:
    return sql.SQL(", ").join(parts)
