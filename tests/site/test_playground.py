import json
from dataclasses import asdict
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from scripts.site import playground
from spark_rtm.cli import main
from spark_rtm.lint.engine import lint_text
from tests.lint.case_files import cases_of_rules
from tests.site.helpers import SUBPATH

pytestmark = pytest.mark.services

LOAD_MS = 240_000
# Checks all texts in a worker of the site, as the form does.
CHECK_SCRIPT = """
async ([script, base, texts]) => {
  const worker = new Worker(script, { type: "module" });
  const next = (message) => new Promise((resolve) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.postMessage(message);
  });
  worker.postMessage({ base });
  const answers = [];
  for (const [name, text] of texts) answers.push(await next({ name, text, engine: "" }));
  return answers;
}
"""


@pytest.fixture
def form(phone: Page, address: str) -> Page:
    phone.goto(f"{address}references/lint_rules.html")
    return phone


def test_browser_finds_what_the_command_finds_in_all_cases(form: Page, address: str) -> None:
    cases = cases_of_rules()
    texts = [[Path(name).name, text] for name, text in cases.items()]
    script = f"{address}scripts/site/assets/python_worker.mjs"
    form.set_default_timeout(LOAD_MS)
    answers = form.evaluate(CHECK_SCRIPT, [script, f"{address}{playground.FOLDER}/", texts])

    expected = {name: [asdict(one) for one in lint_text(text, Path(name).name)] for name, text in cases.items()}
    answered = {name: answer.get("findings", answer) for name, answer in zip(cases, answers, strict=True)}
    assert json.loads(json.dumps(expected)) == json.loads(json.dumps(answered))


def test_form_shows_findings_and_asks_no_other_server(form: Page) -> None:
    requested: list[str] = []
    form.on("request", lambda request: requested.append(request.url))
    form.locator("#playground-text").fill('df.writeStream.trigger(realTime=True).option("checkpointLocation", "/a")')
    form.get_by_role("button", name="Check (").click()
    finding = form.locator("#playground-findings .finding", has_text="trigger-duration")
    expect(finding).to_contain_text('write realTime="5 minutes"', timeout=LOAD_MS)

    assert f"/{SUBPATH}/references/lint_rules/trigger-duration.html" in finding.locator("a").evaluate(
        "link => link.href"
    )
    assert any(url.endswith("pyodide.asm.wasm") for url in requested)
    assert [] == [url for url in requested if f"/{SUBPATH}/" not in url]


def test_form_estimates_what_the_command_estimates(
    phone: Page, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
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
