"""Render a redirect page for each removed page, which sends browsers and readers to the new address."""

from pathlib import Path

from scripts.pack import files

REDIRECTS = {
    "assistants": "install.md#skill",
    "attribution_settings": "attribution.md#flow",
    "concepts": "real_time_mode.md#words",
    "capacity": "growth.md#estimate-your-query",
    "chaos": "faults.md#what-a-fault-costs",
    "error_finder": "errors.md",
    **dict.fromkeys(
        (f"lint_rules_{group}" for group in ("queries", "operators", "settings", "jobs", "text", "clusters")),
        "lint_rules.md#rules",
    ),
    "lint_prose": "lint_rules.md",
    "aims": "latency.md",
    "playground": "lint_rules.md#playground",
    "price": "tuning.md",
    "slot_calculator": "cluster_and_slots.md#how-many-slots-does-a-query-need",
    "soak": "faults.md#what-grows-in-hours",
    "workers": "production.md#oss-with-spark-submit",
}
"""The address of each tool in the navigation, and the new address of each removed page, keyed by the page's stem."""


def pages(root: Path) -> dict[str, str]:
    """Return the Markdown of the redirect pages, keyed by path."""
    return {f"references/{name}.md": _page(root, place) for name, place in REDIRECTS.items()}


def _page(root: Path, place: str) -> str:
    title = files.title((root / "references" / place.partition("#")[0]).read_text(encoding="utf-8"))
    frontmatter = f"title: Moved to {title}\nsearch:\n  exclude: true\nhide: [toc]\n"
    redirect = place.replace(".md", ".html")
    return f"---\n{frontmatter}redirect: {redirect}\n---\n\n# Moved\n\nThis page is now a part of [{title}]({place}).\n"
