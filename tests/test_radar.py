import pyspark
import pytest

from scripts.radar import differences, jars_of, streaming_parts

pytestmark = pytest.mark.spark


def test_names_are_found_in_the_jars_and_their_changes_are_listed() -> None:
    """The first is a condition of 4.3.0, the last a class to which the check refers without naming it as text."""
    newer = streaming_parts(jars_of(pyspark.__version__))
    new = {
        "conditions": "STREAMING_REAL_TIME_MODE.STATEFUL_OPERATORS_BEFORE_UNION_NOT_SUPPORTED",
        "settings": "spark.sql.streaming.realTimeMode.asyncProgressTrackingByDefault.enabled",
        "allow list": "TransformWithStateExec",
    }
    older = {part: [*(name for name in names if name != new[part]), "OLD"] for part, names in newer.items()}

    assert [line for part, name in new.items() for line in (f"{part}: + {name}", f"{part}: - OLD")] == [
        *differences(older, newer)
    ]
