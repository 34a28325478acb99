import subprocess
import sys
import uuid

import pytest
from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(180)]


def shown(page: Page, address: str) -> dict[str, str]:
    texts = {}
    for tab in ("jobs", "stages", "StreamingQuery", "executors"):
        page.goto(f"{address}/{tab}/")
        page.wait_for_load_state("networkidle")
        texts[tab] = " ".join(page.inner_text("body").split())
    return texts


def test_spark_ui_shows_rows_of_a_batch_only_after_its_end(browser: Browser, kafka: str) -> None:
    """Batch 1 has written its 100 results, while the UI shows running tasks, no input, and batch 0 as the latest."""
    topics = [f"test-ui-{name}-{uuid.uuid4().hex[:8]}" for name in ("source", "target")]
    command, page = [sys.executable, "-m", "tests.site.ui_query", kafka, *topics], browser.new_page()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdin
        assert program.stdout
        during = shown(page, program.stdout.readline().strip())
        program.stdin.write("\n")
        program.stdin.flush()
        after = shown(page, program.stdout.readline().strip())
        program.stdin.write("\n")
        program.stdin.flush()
    page.close()

    assert "Active Jobs: 1 Completed Jobs: 1" in during["jobs"]
    assert "Active Stages (2)" in during["stages"]
    assert 2 == during["stages"].count(" 0/2 ")
    assert " 0.00 0.00 0 Page:" in during["StreamingQuery"]
    assert "0.0 B 0.0 B 0.0 B" in during["executors"]
    assert " 0.00 0.00 " not in after["StreamingQuery"]
    assert " 1 Page:" in after["StreamingQuery"]
