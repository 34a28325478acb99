"""What the README promises about itself."""

from scripts.pack import files
from scripts.text import markdown


def test_snippet_for_other_projects_is_small() -> None:
    """A project's own AGENTS.md grows by less than a kilobyte."""
    [snippet] = [
        fence.code
        for fence in markdown.fences((files.ROOT / "README.md").read_text(encoding="utf-8"))
        if fence.language == "markdown"
    ]

    assert 0 < len(snippet.encode()) <= 1024
    assert 'trigger(realTime="5 minutes")' in snippet
