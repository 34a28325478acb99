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


CHAIN = "query = (\n    events.writeStream.format('console')\n    {}\n    .start()\n)\n"
IMPORT = "from pyspark.sql.streaming import DataStreamWriter{}\n"


@pytest.mark.parametrize(
    ("program", "wrong", "right"),
    [
        (START, UPDATE + ".trigger(realTime=True)", UPDATE + REAL_TIME),
        (START, UPDATE + '.trigger(real_time="10 seconds")', UPDATE + '.trigger(realTime="10 seconds")'),
        (START, UPDATE + '.trigger(RealTimeTrigger.apply("1 minute"))', UPDATE + '.trigger(realTime="1 minute")'),
        (START, UPDATE + ".trigger(Trigger.RealTime())", UPDATE + REAL_TIME),
        (START, UPDATE + '.trigger("realTime")', UPDATE + REAL_TIME),
        (START, '.outputMode("append")' + REAL_TIME, UPDATE + REAL_TIME),
        (START, '.outputMode(outputMode="complete")' + REAL_TIME, '.outputMode(outputMode="update")' + REAL_TIME),
        (CHAIN, REAL_TIME, f"{REAL_TIME}\n    {UPDATE}"),
        (IMPORT + START.format(UPDATE + REAL_TIME), ", Trigger", ""),
    ],
)
def test_only_the_wrong_part_of_a_program_changes(program: str, wrong: str, right: str) -> None:
    """A failing trigger becomes PySpark's only form and keeps its duration; a missing mode gets a line of its own."""
    assert EVENTS + program.format(right) == corrected(EVENTS + program.format(wrong))


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


@pytest.mark.parametrize("call", [".outputMode('append')" + REAL_TIME, UPDATE + ".trigger(realTime=True)", REAL_TIME])
def test_equal_statements_on_one_line_are_all_corrected(call: str) -> None:
    """A second run of `--fix` finds nothing to correct, so no finding stays fixable forever."""
    statement = f"events.writeStream.format('console'){call}.start()"
    after = corrected(f"{EVENTS}{statement}; {statement}; {statement}\n")

    assert [] == lint_text(after, "job.py")
    assert after == corrected(after)


BATCH = "events.writeStream.format('console').outputMode('append').trigger(processingTime='1 second').start()"
REAL_TIME_BATCH = BATCH.replace("processingTime='1 second'", "realTime='5 minutes'")
BRANCHES = f"""{EVENTS}writer = events.writeStream.format('console')
if live:
    writer = writer.trigger(realTime="5 minutes")
else:
    writer = writer.outputMode("append").trigger(processingTime="1 second")
writer.start()
"""


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (f"{EVENTS}{BATCH}; {REAL_TIME_BATCH}\n", 1),
        (BRANCHES, 1),
        (EVENTS + START.format(UPDATE + ".trigger(realTime=300)"), 1),
        (EVENTS + START.format(UPDATE + ".trigger(realTime=interval, once=True)"), 0),
        (EVENTS + START.format(".outputMode(mode)" + REAL_TIME), 0),
        ("broken(realTime=True\n", 1),
    ],
)
def test_what_is_not_certain_stays(text: str, count: int) -> None:
    assert count == len(lint_text(text, "job.py"))
    assert text == corrected(text)


def test_other_formats_are_not_changed() -> None:
    """Pages may show mistakes, so only Python files are corrected."""
    page = f"```python\n{EVENTS}{START.format(UPDATE + '.trigger(realTime=True)')}```\n"

    assert lint_text(page, "page.md")
    assert page == corrected(page, "page.md")
