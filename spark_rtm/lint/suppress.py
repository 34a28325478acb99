"""Find comments that silence rules for a line or a file."""

import re

IGNORE = re.compile(r"(?:#|//|<!--)\s*rtm:\s*ignore(?:\[(?P<rules>[\w\s,*-]+)\])?", re.IGNORECASE)
FILE_IGNORE = re.compile(
    r"^[^\S\n]*(?:#|//|<!--|--)[^\S\n]*rtm:[^\S\n]*file-ignore\[(?P<rules>[\w\s,*-]+)\]", re.IGNORECASE | re.MULTILINE
)
SQL_COMMENT = re.compile(r"--(?=\s*rtm:)")


def silenced_lines(text: str, suffix: str) -> dict[int, set[str]]:
    """Map each line to the rule ids that a comment silences there. `*` means all rules."""
    if "rtm:" not in text.lower():
        return {}
    if suffix == ".sql":
        text = SQL_COMMENT.sub("//", text)
    silenced: dict[int, set[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        match = IGNORE.search(line)
        if match:
            silenced[number] = {rule.strip() for rule in (match["rules"] or "*").split(",")}
            if line.lstrip().startswith(("#", "//", "<!--")):  # a comment on its own line covers the next line
                silenced[number + 1] = silenced[number] | silenced.get(number + 1, set())
    return silenced


def silenced_in_file(text: str) -> set[str]:
    """Return the rule ids that comments `rtm: file-ignore[rule]` silence."""
    if "file-ignore" not in text.lower():
        return set()
    return {rule.strip() for match in FILE_IGNORE.finditer(text) for rule in match["rules"].split(",")}
