import traceback

import psycopg
import pytest
from psycopg import errors

from spark_rtm.sinks.connection import is_transient
from tests.sinks.helpers import COLUMNS, Table, do, row, sink_of, write

PERSON = "alice@example.org"
STATEMENTS_WITH_VALUES = {
    "check": "alter table {0} add constraint adult check (version > 17)",
    "not-null": "alter table {0} add other text not null",
    "invalid-number": "",
    "trigger": "create function {0}_age() returns trigger language plpgsql as "
    "$$ begin raise exception '% is too young', new.key; end $$; "
    "create trigger age before insert on {0} for each row execute function {0}_age()",
}
CASES: dict[str, tuple[psycopg.Error, int, bool]] = {
    # error, statement timeouts so far, is it retried
    "killed-backend": (errors.AdminShutdown(), 0, True),
    "connection-lost": (psycopg.OperationalError("server closed the connection"), 0, True),
    "deadlock": (errors.DeadlockDetected(), 0, True),
    "too-many-connections": (errors.TooManyConnections(), 0, True),
    "lock-timeout": (errors.LockNotAvailable(), 0, True),
    "read-only-standby": (errors.ReadOnlySqlTransaction(), 0, True),
    "second-statement-timeout": (errors.QueryCanceled(), 2, True),
    "third-statement-timeout": (errors.QueryCanceled(), 3, False),
    "value-out-of-range": (errors.NumericValueOutOfRange(), 0, False),
    "no-such-table": (errors.UndefinedTable(), 0, False),
    "nul-byte": (psycopg.DataError("PostgreSQL text fields cannot contain NUL"), 0, False),
}


@pytest.mark.parametrize(("error", "timeouts", "expected"), CASES.values(), ids=CASES)
def test_only_transient_errors_are_retried(error: psycopg.Error, timeouts: int, expected: bool) -> None:
    assert expected is is_transient(error, timeouts=timeouts, refused_logins=0)


@pytest.mark.services
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
