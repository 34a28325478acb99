"""The snippet of the README that users copy into their own projects."""

from scripts.pack import files
from spark_rtm.text import markdown


def test_snippet_for_other_projects_is_below_one_kilobyte() -> None:
    """The snippet adds at most one kilobyte to a project's AGENTS.md."""
    [snippet] = [
        fence.code
        for fence in markdown.fences((files.ROOT / "references/install.md").read_text(encoding="utf-8"))
        if fence.language == "markdown"
    ]

    assert 0 < len(snippet.encode()) <= 1024
    assert 'trigger(realTime="5 minutes")' in snippet
