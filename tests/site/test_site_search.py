import re
from pathlib import Path

import pytest
from playwright.sync_api import Page

from scripts.pack import files
from scripts.site import error_finder
from spark_rtm.text import markdown
from spark_rtm.text.explanations import NAME

pytestmark = pytest.mark.services

CONF = re.compile(r"spark\.[a-z][\w.]*\w")
# Sends queries to the worker of the site with the index of the site, as a page does.
ASK_SCRIPT = """
async ([worker, base, queries]) => {
  const index = await (await fetch(base + "search/search_index.json")).json();
  const search = new Worker(worker);
  const next = (message, type) => new Promise((resolve) => {
    search.onmessage = ({ data }) => { if (data.type === type) resolve(data.data); };
    search.postMessage(message);
  });
  await next({ type: 0, data: { ...index, options: {} } }, 1);
  const found = {};
  for (const query of queries) {
    const { items } = await next({ type: 2, data: query }, 3);
    found[query] = items.flat().map((item) => item.location);
  }
  return found;
}
"""


def names_of_the_pages() -> set[str]:
    """Return every error condition of open-source Spark, and every setting that a page shows as code."""
    entries = [entry for entry in error_finder.entries(files.ROOT) if "Databricks" not in entry["engine"]]
    names = {entry["condition"] for entry in entries if NAME.fullmatch(entry["condition"])}
    for page in files.references(files.ROOT):
        spans = re.findall(r"`([^`\n]+)`", "\n".join(markdown.prose(page.read_text(encoding="utf-8"))))
        names |= {span for span in spans if CONF.fullmatch(span)}
    return names


def ask(page: Page, address: str, queries: list[str]) -> dict[str, list[str]]:
    worker = page.evaluate("JSON.parse(document.getElementById('__config').textContent).search")
    locations: dict[str, list[str]] = page.evaluate(ASK_SCRIPT, [worker, address, queries])
    return locations


def text_of(location: str) -> str:
    name = location.partition("#")[0].replace("index.html", "README.html").replace(".html", ".md")
    return (files.ROOT / name).read_text(encoding="utf-8")


WANTED = {
    "shuffle partitions": "cluster_and_slots",
    "how many slots": "cluster_and_slots",
    "how do I install": "install",
    "operator or sink not in allowlist": "sources_sinks_operators",
    "stop a query without repeats": "control",
    "latency percentiles": "latency",
    "schema evolution": "formats",
    "kill the driver": "faults",
    "watermark": "state",
}


def test_names_and_words_of_people_lead_to_the_page_with_the_answer(phone: Page, address: str) -> None:
    """Every condition and setting is found by its name; questions in natural words find the page that answers them."""
    names = sorted(names_of_the_pages())
    assert {"STREAMING_REAL_TIME_MODE.SINK_NOT_SUPPORTED", "spark.sql.shuffle.partitions"} <= set(names)

    phone.goto(address)
    locations = ask(phone, address, [*names, *WANTED])

    short = {name: name.rpartition(".")[2] if name.isupper() else name for name in names}
    wrong = {
        name: locations[name][:1]
        for name in names
        if not locations[name] or short[name] not in text_of(locations[name][0])
    }
    assert {} == wrong
    assert WANTED == {words: Path(locations[words][0].partition("#")[0]).stem for words in WANTED}
