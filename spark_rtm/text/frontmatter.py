"""
Parse the frontmatter of `SKILL.md`: `key: value` lines, and one level of indented keys below `metadata`.

Assistants use these fields to decide whether to load the skill. This parser needs no packages, but supports only the
YAML of the skill. `validate` checks `SKILL.md` against the full specification.
"""

import re


def read_frontmatter(text: str) -> dict[str, str]:
    """Return the fields, or nothing without frontmatter. A key below `metadata` becomes `metadata.KEY`."""
    match = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    fields: dict[str, str] = {}
    parent = last = ""
    for line in match[1].splitlines() if match else []:
        if entry := re.match(r"(?P<indent> *)(?P<key>[\w-]+):(?: +(?P<value>.*))?$", line):
            parent = "" if not entry["indent"] else parent
            last = f"{parent}.{entry['key']}" if parent else entry["key"]
            value = (entry["value"] or "").strip()
            if value in {"", ">", ">-", "|", "|-"}:
                parent = entry["key"] if value == "" else ""
                value = ""
            fields[last] = value.strip("\"'")
        elif line.startswith(" ") and last:
            fields[last] = f"{fields[last]} {line.strip()}".strip()
    return {key: value for key, value in fields.items() if value}
