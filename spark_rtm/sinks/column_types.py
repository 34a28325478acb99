"""
Choose the types of the upsert statement so PostgreSQL refuses a value that is too long for its column.

An explicit cast to a type with a length, such as `varchar(4)`, truncates a longer value without an error.
"""

import re
from collections.abc import Mapping

TYPE_NAME = re.compile(r'[A-Za-z_"][\w." ]*(\(\d+(, ?\d+)?\)[\w ]*)?')
LENGTH = re.compile(r"\(.*\)")
TYPES_OF_LENGTH_1 = {
    **dict.fromkeys(("char", "character", "nchar", "national char", "national character"), "bpchar"),
    "bit": "bit varying",
}
"""Types with the default length 1, each with a type for the same values without a length."""
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
"""Query for domains and two internal types, because a cast to them may truncate a value without an error."""


def cast_type(type_name: str) -> str:
    """Return the type without its length. PostgreSQL then compares each value with the length of the table's column."""
    name = " ".join(LENGTH.sub(" ", type_name).split())
    return TYPES_OF_LENGTH_1.get(name.lower(), name)


def types_to_check(columns: Mapping[str, str]) -> list[str]:
    """Return the types that may truncate values in a cast, so the server must look them up."""
    names = {cast_type(type_name) for type_name in columns.values()}
    return sorted(name for name in names if name.lower() not in BUILT_IN_TYPES)
