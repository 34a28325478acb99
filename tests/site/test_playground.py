import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from spark_rtm.cli import main
from spark_rtm.lint.engine import lint_text
from tests.lint.case_files import cases_of_rules
from tests.site.helpers import SUBPATH

pytestmark = [pytest.mark.services, pytest.mark.timeout(240)]

LOAD_MS = 200_000
VERSION = re.compile(r"Python 3\.\d+")
# Keeps a page's workers, so the texts are checked by the Python interpreter that the form has loaded.
KEEP_WORKERS = """
window.workers = {};
window.Worker = class extends Worker {
  constructor(script, options) {
    super(script, options);
    window.workers[String(script).split("/").pop()] = this;
  }
};
"""
CHECK_SCRIPT = """
async (texts) => {
  const worker = window.workers["python_worker.mjs"];
  const answers = [];
  for (const [name, text] of texts) {
    answers.push(await new Promise((resolve) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.postMessage({ name, text, engine: "" });
    }));
  }
  return answers;
}
"""


def test_browser_finds_what_the_command_finds_and_asks_no_other_server(phone: Page, address: str) -> None:
    """The form shows a finding; the Python code behind it returns the same findings as the command for all cases."""
    requested: list[str] = []
    phone.on("request", lambda request: requested.append(request.url))
    phone.add_init_script(KEEP_WORKERS)
    phone.set_default_timeout(LOAD_MS)
    phone.goto(f"{address}references/lint_rules.html")
    phone.locator("#playground-text").fill('df.writeStream.trigger(realTime=True).option("checkpointLocation", "/a")')
    phone.get_by_role("button", name="Check (").click()
    finding = phone.locator("#playground-findings .finding", has_text="trigger-duration")
    expect(finding).to_contain_text('write realTime="5 minutes"', timeout=LOAD_MS)
    link = finding.locator("a").evaluate("link => link.href")
    cases = cases_of_rules()
    answers = phone.evaluate(CHECK_SCRIPT, [[Path(name).name, text] for name, text in cases.items()])

    assert f"/{SUBPATH}/references/lint_rules/trigger-duration.html" in link
    assert any(url.endswith("pyodide.asm.wasm") for url in requested)
    assert [] == [url for url in requested if f"/{SUBPATH}/" not in url]
    expected = {name: [one.content for one in lint_text(text, Path(name).name)] for name, text in cases.items()}
    answered = {name: answer.get("findings", answer) for name, answer in zip(cases, answers, strict=True)}
    # A message about code that cannot be parsed names the version, which is newer in the browser.
    assert json.loads(VERSION.sub("Python", json.dumps(expected))) == json.loads(
        VERSION.sub("Python", json.dumps(answered))
    )


def test_form_estimates_as_the_command_does(phone: Page, address: str, capsys: pytest.CaptureFixture[str]) -> None:
    phone.goto(f"{address}references/growth.html")
    phone.locator("#rate").fill("900")
    phone.locator("#partitions").fill("3")
    shared = phone.evaluate("location.href")
    phone.goto("about:blank")
    phone.goto(shared)
    phone.get_by_role("button", name="Estimate (").click()
    estimate = phone.locator("#capacity-estimate")
    expect(estimate).to_contain_text("measured", timeout=LOAD_MS)
    arguments = str(phone.locator("#capacity-command").text_content()).split()[1:]
    main(arguments)
    printed = capsys.readouterr()

    assert ["capacity", "--rate", "900"] == arguments[:3]
    assert printed.out + printed.err == estimate.text_content()
