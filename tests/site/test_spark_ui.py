"""The tabs of the Spark UI during a batch and after it. If run as a program, this module runs the query of the test."""

import os
import re
import subprocess
import sys
import uuid
from collections.abc import Callable

import pytest
from confluent_kafka import Producer
from playwright.sync_api import Browser, Page

from scripts.pack import files
from spark_rtm.kafka.consumer import read_topic
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.realtime import control
from spark_rtm.realtime.queries import KAFKA_SINK
from spark_rtm.services import new_folder
from spark_rtm.services.spark import build_session
from spark_rtm.text import markdown
from tests.helpers import eventually

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(300)]

LOAD_SECONDS = 60
PICTURES = os.environ.get("UI_PICTURES")
"""Folder for screenshots of the page. By default, none are taken."""
UI = {"spark.ui.enabled": "true", "spark.ui.port": "0", "spark.executor.heartbeatInterval": "1s"}
PLAN, ROWS = "the plan in the SQL tab", "100 100 100 100 WriteToDataSourceV2 "
# The path of each tab, and patterns for its text during batch 1, which has written its 100 results, and after it.
TABS = {
    "Jobs": (
        "jobs/",
        r"Active Jobs: 1 Completed Jobs: 1 .* batch = 1 .* 0/2 0/4 (\(4 running\) )?Page.* batch = 0 .* 2/2 4/4 Page",
        r"Active Jobs: 1 Completed Jobs: 2 .* batch = 2 .* batch = 1 .* 2/2 4/4 ",
    ),
    # Between the tasks and the next row or `Page`, the columns for input, output and shuffle have no text.
    "Stages": (
        "stages/",
        r"Active Stages: 2 Completed Stages: 2 .* 0/2 \(2 running\) 2 counts .* 0/2 \(2 running\) Page",
        r"Active Stages: 2 Completed Stages: 4 .* 2/2 2 counts .* 2/2 1 counts .* 2/2 0 counts .* 2/2 Page",
    ),
    "SQL / DataFrame": (
        "SQL/",
        r"Failure Rate 2 .* RUNNING counts .* COMPLETED counts",
        r"Failure Rate 3 .* RUNNING counts (.* COMPLETED counts){2}",
    ),
    # The plan of the batch belongs to its second execution. Its numbers arrive with the heartbeats of the executors.
    PLAN: ("SQL/execution/?id=3", rf" RUNNING counts .* {ROWS}", rf" COMPLETED counts .* {ROWS}"),
    "Executors": ("executors/", r" 8 4 0 4 8 .*( 0\.0 B){3}", r" 8 4 0 8 12 .*( 0\.0 B){3}"),
    "Structured Streaming": (
        "StreamingQuery/",
        r" counts RUNNING .* 0\.00 0\.00 0 Page",
        r" counts RUNNING .* (?!0\.00)\d+\.\d+ (?!0\.00)\d+\.\d+ 1 Page",
    ),
}


def check_tabs(page: Page, address: str, moment: int) -> None:
    """Wait for the text of each tab. Scripts complete some tabs after the page has loaded."""
    for tab, (path, *texts) in TABS.items():

        def has_text(text: str = texts[moment]) -> bool:
            return re.search(text, " ".join(page.inner_text("body").split())) is not None

        def has_loaded(url: str = f"{address}/{path}", has_text: Callable[[], bool] = has_text) -> bool:
            page.goto(url)
            if not has_text():
                page.wait_for_load_state("networkidle")
            return has_text()

        eventually(has_loaded, LOAD_SECONDS, f"the text of the tab {tab} {('during', 'after')[moment]} the batch")


def test_spark_ui_counts_rows_of_a_running_batch_only_in_the_plan(browser: Browser, kafka: str) -> None:
    topics = [f"test-ui-{name}-{uuid.uuid4().hex[:8]}" for name in ("source", "target")]
    command = [sys.executable, "-m", "tests.site.test_spark_ui", kafka, *topics]
    page = browser.new_page(viewport={"width": 760, "height": 620})
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdin
        assert program.stdout
        for moment, name in enumerate(("during", "after")):
            check_tabs(page, program.stdout.readline().strip(), moment)
            if PICTURES:
                clip = {"x": 0, "y": 0, "width": 760, "height": 368}
                page.screenshot(path=f"{PICTURES}/spark_ui_{name}.png", clip=clip)  # type: ignore[arg-type]
            print(file=program.stdin, flush=True)
    page.close()


def test_page_has_a_row_for_each_tab() -> None:
    text = (files.ROOT / "references/debugging.md").read_text(encoding="utf-8")
    [table] = [table for table in markdown.tables(text) if table.header[0] == "tab"]

    assert [tab for tab in TABS if tab != PLAN] == [cells[0] for _, cells in table.rows]


def main() -> None:
    """Count 100 records in batch 1, and print the address of the UI in the middle of this batch and after it."""
    servers, source, target = sys.argv[1:]
    spark = build_session("spark-ui", confs=UI)
    ensure_topics(servers, [source, target], 2)
    kafka = {"kafka.bootstrap.servers": servers}
    # Commands end the batches of this source, so the test waits for no interval.
    counts = spark.readStream.format(control.SOURCE).options(**kafka, subscribe=source).load().groupBy("key").count()
    writer = counts.selectExpr("key", "string(count) AS value").writeStream.format("kafka").outputMode("update")
    writer = writer.options(**kafka, **KAFKA_SINK, topic=target, checkpointLocation=str(new_folder("checkpoint")))
    query = writer.queryName("counts").trigger(realTime="5 minutes").start()  # type: ignore[call-overload]
    control.commit(query)
    with Producer({"bootstrap.servers": servers}) as producer:
        for number in range(100):
            producer.produce(source, b"", f"k{number}")
    read_topic(servers, target, min_records=100)
    print(spark.sparkContext.uiWebUrl, flush=True)
    sys.stdin.readline()
    control.commit(query)
    print(spark.sparkContext.uiWebUrl, flush=True)
    sys.stdin.readline()
    query.stop()
    spark.stop()


if __name__ == "__main__":
    main()
