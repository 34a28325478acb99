import traceback

import pytest

from tests.sinks.helpers import COLUMNS, Table, do, row, sink_of, write

pytestmark = pytest.mark.services

PERSON = "alice@example.org"
STATEMENTS_WITH_VALUES = {
    "check": "alter table {0} add constraint adult check (version > 17)",
    "not-null": "alter table {0} add other text not null",
    "invalid-number": "",
    "trigger": "create function {0}_age() returns trigger language plpgsql as "
    "$$ begin raise exception '% is too young', new.key; end $$; "
    "create trigger age before insert on {0} for each row execute function {0}_age()",
}


@pytest.mark.parametrize("refusal", STATEMENTS_WITH_VALUES)
def test_errors_show_no_value_of_a_row(table: Table, refusal: str) -> None:
    do(table.dsn, STATEMENTS_WITH_VALUES[refusal].format(table.name))
    columns = COLUMNS | ({"value": "int"} if refusal == "invalid-number" else {})

    with pytest.raises(RuntimeError) as failure:
        write(sink_of(table, columns=columns), row(PERSON, 11, PERSON))

    text = "".join(traceback.format_exception(failure.value))
    assert PERSON not in text
    assert "SQLSTATE" in text
    assert refusal != "check" or f"table '{table.name}', constraint 'adult'" in text
    do(table.dsn, f"drop function if exists {table.name}_age cascade")


def test_error_names_a_table_that_does_not_exist(table: Table) -> None:
    """Messages about tables contain no values, so they stay in the error."""
    with pytest.raises(RuntimeError) as failure:
        write(sink_of(Table(table.dsn, "nowhere")), row("k", 1))

    assert 'UndefinedTable, SQLSTATE 42P01, relation "public.nowhere" does not exist' == str(failure.value.__cause__)
    assert "42P01" == getattr(failure.value.__cause__, "sqlstate", None)
