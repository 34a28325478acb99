"""
The workloads of `harness/workloads.py` in Flink SQL.

This file runs in the Python environment of Flink and imports nothing from this repository. The only argument is a JSON
object with the topics, the workload and the settings. Flink 2.3 parses the JSON of a record again for each field.
"""

import json
import sys
from typing import Any

from pyflink.table import EnvironmentSettings, StatementSet, TableEnvironment  # type: ignore[import-not-found]

CONNECTION = "'properties.bootstrap.servers'='{bootstrap_servers}', 'properties.linger.ms'='0'"

INPUT = f"""CREATE TABLE input (`raw` STRING) WITH ('connector'='kafka', {CONNECTION}, 'topic'='{{source}}',
    'properties.group.id'='{{source}}', 'scan.startup.mode'='earliest-offset', 'format'='raw')"""
DECODED = """CREATE VIEW decoded AS
    SELECT `raw`, JSON_VALUE(`raw`, '$.id') AS id, CAST(JSON_VALUE(`raw`, '$.seq') AS BIGINT) AS seq,
        JSON_VALUE(`raw`, '$.kind') AS kind, CAST(JSON_VALUE(`raw`, '$.ts') AS BIGINT) AS ts,
        CAST(JSON_VALUE(`raw`, '$.amount') AS BIGINT) AS amount
    FROM input"""
CHECKED = """CREATE VIEW checked AS
    SELECT *, CASE WHEN id IS NULL THEN 'missing:id'
        WHEN kind IN ('request', 'impression', 'click', 'complete') THEN CAST(NULL AS STRING)
        ELSE 'unknown_kind' END AS reason
    FROM decoded"""

ROUTED = f"""CREATE TABLE routed (id STRING, seq BIGINT, kind STRING, ts BIGINT, amount BIGINT)
    WITH ('connector'='kafka', {CONNECTION}, 'topic'='{{target}}', 'key.format'='raw', 'key.fields'='id',
    'value.format'='json')"""
REJECTED = f"""CREATE TABLE rejected (reason STRING, `raw` STRING)
    WITH ('connector'='kafka', {CONNECTION}, 'topic'='{{rejected}}', 'format'='json')"""
CORRELATED = f"""CREATE TABLE correlated (seq BIGINT, id STRING, request_ts BIGINT, impressions BIGINT,
    seqs ARRAY<BIGINT>, last_ts BIGINT, PRIMARY KEY (id) NOT ENFORCED)
    WITH ('connector'='upsert-kafka', {CONNECTION}, 'topic'='{{target}}', 'key.format'='raw', 'value.format'='json')"""
STATELESS = (
    "INSERT INTO routed SELECT id, seq, kind, ts, amount FROM checked WHERE reason IS NULL",
    "INSERT INTO rejected SELECT reason, `raw` FROM checked WHERE reason IS NOT NULL",
)
STATEFUL = """INSERT INTO correlated
    SELECT LAST_VALUE(seq), id, FIRST_VALUE(ts) FILTER (WHERE kind = 'request'),
        COUNT(*) FILTER (WHERE kind = 'impression'), ARRAY_AGG(seq), LAST_VALUE(ts)
    FROM checked WHERE reason IS NULL GROUP BY id"""


def statements(run: dict[str, Any]) -> StatementSet:
    """Return all INSERT statements as one job."""
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name, value in run["settings"].items():
        environment.get_config().set(name, value)
    for statement in (INPUT, DECODED, CHECKED, ROUTED, REJECTED, CORRELATED):
        environment.execute_sql(statement.format(**run))
    inserts = environment.create_statement_set()
    for insert in STATELESS if run["workload"] == "stateless" else (STATEFUL,):
        inserts.add_insert_sql(insert)
    return inserts


def main() -> None:
    """Run the job until it is stopped. If the job fails, the program exits with the job's error."""
    statements(json.loads(sys.argv[1])).execute().wait()


if __name__ == "__main__":
    main()
