"""
Read the frontmatter of `SKILL.md`: plain `key: value` lines and one level of indented keys below `metadata`.

The text of the page arrives; its fields leave. Assistants decide by these fields whether to load the skill at all.
The full YAML rules are left to `skills-ref`, with which `validate` compares; this reader needs no package.
"""

import re


def read_frontmatter(text: str) -> dict[str, str]:
    """Return the fields, with those below `metadata` as `metadata.KEY`; empty if there is no frontmatter."""
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
