import pytest

from spark_rtm.lint.engine import lint_text
from spark_rtm.lint.fixes import fixed
from spark_rtm.lint.settings import Settings

EVENTS = 'events = spark.readStream.format("kafka").load().select("key", "value")\n'
START = 'writer = events.writeStream.format("console")\nwriter{}.start()\n'
UPDATE = '.outputMode("update")'
REAL_TIME = '.trigger(realTime="5 minutes")'


def corrected(text: str, path: str = "job.py") -> str:
    return fixed(text, path, lint_text(text, path), Settings())


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (".trigger(realTime=True)", REAL_TIME),
        ('.trigger(real_time="10 seconds")', '.trigger(realTime="10 seconds")'),
        ('.trigger(RealTimeTrigger.apply("1 minute"))', '.trigger(realTime="1 minute")'),
        (".trigger(Trigger.RealTime())", REAL_TIME),
        ('.trigger("realTime")', REAL_TIME),
    ],
)
def test_trigger_becomes_the_keyword_with_a_duration(wrong: str, right: str) -> None:
    """A form of the trigger that PySpark rejects becomes the keyword form; a duration in it is kept."""
    assert EVENTS + START.format(UPDATE + right) == corrected(EVENTS + START.format(UPDATE + wrong))


@pytest.mark.parametrize(
    ("interval", "reason"),
    [
        ("0 seconds", "is not above zero, so trigger() fails"),
        ("1 millisecond", "is below the minimum of 5 seconds, so start() fails"),
    ],
)
def test_rejected_interval_has_its_own_reason(interval: str, reason: str) -> None:
    text = EVENTS + START.format(UPDATE + REAL_TIME.replace("5 minutes", interval))

    assert any(reason in problem.message for problem in lint_text(text, "job.py"))


@pytest.mark.parametrize("mode", ['.outputMode("append")', '.outputMode(outputMode="complete")'])
def test_wrong_output_mode_becomes_update(mode: str) -> None:
    after = corrected(EVENTS + START.format(mode + REAL_TIME))

    assert EVENTS + START.format(mode.replace("append", "update").replace("complete", "update") + REAL_TIME) == after


def test_missing_output_mode_is_added_on_its_own_line() -> None:
    chain = "query = (\n    events.writeStream.format('console')\n    {}\n    .start()\n)\n"

    after = corrected(EVENTS + chain.format(REAL_TIME))

    assert EVENTS + chain.format(f"{REAL_TIME}\n    {UPDATE}") == after


@pytest.mark.parametrize("call", [".outputMode('append')" + REAL_TIME, UPDATE + ".trigger(realTime=True)", REAL_TIME])
def test_equal_statements_on_one_line_are_all_corrected(call: str) -> None:
    """A second run of `--fix` finds nothing to correct, so no finding stays fixable forever."""
    statement = f"events.writeStream.format('console'){call}.start()"
    after = corrected(f"{EVENTS}{statement}; {statement}; {statement}\n")

    assert [] == lint_text(after, "job.py")
    assert after == corrected(after)


def test_statement_beside_one_in_another_mode_is_left_alone() -> None:
    batch = "events.writeStream.format('console').outputMode('append').trigger(processingTime='1 second').start()"
    real_time = batch.replace("processingTime='1 second'", "realTime='5 minutes'")
    text = f"{EVENTS}{batch}; {real_time}\n"

    assert 1 == len(lint_text(text, "job.py"))
    assert text == corrected(text)


def test_mode_of_another_branch_is_left_alone() -> None:
    text = f"""{EVENTS}writer = events.writeStream.format('console')
if live:
    writer = writer.trigger(realTime="5 minutes")
else:
    writer = writer.outputMode("append").trigger(processingTime="1 second")
writer.start()
"""

    assert ["output-mode"] == [finding.rule for finding in lint_text(text, "job.py")]
    assert text == corrected(text)


def test_import_of_a_scala_trigger_is_deleted() -> None:
    line = "from pyspark.sql.streaming import DataStreamWriter, Trigger\n"
    query = EVENTS + START.format(UPDATE + REAL_TIME)

    assert "from pyspark.sql.streaming import DataStreamWriter\n" + query == corrected(line + query)


@pytest.mark.parametrize(
    "text",
    [
        EVENTS + START.format(UPDATE + ".trigger(realTime=300)"),
        EVENTS + START.format(UPDATE + ".trigger(realTime=interval, once=True)"),
        EVENTS + START.format(".outputMode(mode)" + REAL_TIME),
        "broken(realTime=True\n",
    ],
)
def test_what_is_not_certain_stays(text: str) -> None:
    assert text == corrected(text)


def test_other_formats_are_not_changed() -> None:
    """Pages may show mistakes, so only Python files are corrected."""
    page = f"```python\n{EVENTS}{START.format(UPDATE + '.trigger(realTime=True)')}```\n"

    assert lint_text(page, "page.md")
    assert page == corrected(page, "page.md")
