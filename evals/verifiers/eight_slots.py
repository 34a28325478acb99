"""A query with two stateful steps runs on eight task slots, although the session has 200 shuffle partitions."""

import json

from pyspark.sql import DataFrame

from evals.stage import Answer, newest, outputs, require, session
from spark_rtm.prove.subjects.bench import Bench
from spark_rtm.realtime.slots import slots_needed

SLOTS, PARTITIONS = 8, 4
CLICKS = [("u1", "a"), ("u1", "b"), ("u1", "a"), ("u2", "a"), ("u2", "c"), ("u2", "c"), ("u3", "d")]
EXPECTED = {"u1": 2, "u2": 2, "u3": 1}
AT_MS = 1_700_000_000_000


def verify(bench: Bench, answer: Answer) -> None:
    """Count the task slots in the plan, then run the query and compare the counts."""

    def counted(records: DataFrame) -> DataFrame:
        rows: DataFrame = answer(records)
        needed = slots_needed(rows, PARTITIONS)
        require(needed <= SLOTS, f"the query needs {needed} task slots, but the cluster has {SLOTS}")
        return rows

    spark = session(bench, shuffle_partitions=200)
    clicks = [json.dumps({"user": user, "id": f"{user}{name}", "at": AT_MS}) for user, name in CLICKS]
    found = newest(outputs(bench, counted, clicks, partitions=PARTITIONS, spark=spark))
    counts = {user: result.get("clicks") for user, result in found.items()}
    require(counts == EXPECTED, f"the counts are {counts} instead of {EXPECTED}")
