import pyspark
import pytest

from scripts.pack import files
from scripts.pack.tables.versions import since, with_since
from scripts.radar import differences, jars_of, streaming_parts


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ({"4.1.1": "runs", "4.2.0": "runs", "4.3.0": "runs"}, "4.1"),
        ({"4.1.1": "runs", "4.2.0": "`A`", "4.3.0": "runs"}, "4.3"),
        ({"4.1.1": "runs", "4.2.0": "`A`", "4.3.0": "`B`"}, "4.2"),
        ({"4.3.0": "runs"}, "4.3"),
        ({"4.2.0": None, "4.3.0": "runs"}, "-"),
        ({"4.1.1": "not observed: TypeError: no such class", "4.2.0": "runs"}, "-"),
    ],
    ids=["always", "only-before-and-now", "another-message", "one-version", "not-run", "probe-failed"],
)
def test_row_holds_since_its_newest_outcome_began(outcomes: dict[str, str | None], expected: str) -> None:
    assert expected == since(outcomes)


def test_wrong_cell_of_the_column_since_is_replaced() -> None:
    page = (files.ROOT / "references/sources_sinks_operators.md").read_text(encoding="utf-8")
    old = '| `format("kafka")` | runs | 4.1 |'
    assert old in page

    assert page == with_since(files.ROOT, page.replace(old, old.replace("4.1", "4.2"), 1))


def test_names_are_found_in_the_jars_and_their_changes_are_listed() -> None:
    """The jars contain a condition, a setting and an allowlisted class; added and removed names are listed."""
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
