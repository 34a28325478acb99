"""Find the comments `rtm: ignore` and `rtm: file-ignore`, which silence rules in files of every format."""

import re

IGNORE = re.compile(r"(?:#|//|<!--|--)\s*rtm:\s*ignore(?:\[(?P<rules>[\w\s,*-]+)\])?", re.IGNORECASE)
FILE_IGNORE = re.compile(
    r"^[^\S\n]*(?:#|//|<!--|--)[^\S\n]*rtm:[^\S\n]*file-ignore\[(?P<rules>[\w\s,*-]+)\]", re.IGNORECASE | re.MULTILINE
)


def silenced_lines(text: str) -> dict[int, set[str]]:
    """Map each line to the rule ids that a comment silences there. `*` means all rules."""
    silenced: dict[int, set[str]] = {}
    for number, line in enumerate(text.splitlines() if "rtm:" in text.lower() else (), 1):
        if match := IGNORE.search(line):
            silenced[number] = {rule.strip() for rule in (match["rules"] or "*").split(",")}
            if line.lstrip().startswith(("#", "//", "<!--", "--")):  # alone on its line, it covers the next line
                silenced[number + 1] = silenced[number] | silenced.get(number + 1, set())
    return silenced


def silenced_in_file(text: str) -> set[str]:
    """Return the rule ids that comments `rtm: file-ignore[rule]` silence."""
    return {rule.strip() for match in FILE_IGNORE.finditer(text) for rule in match["rules"].split(",")}


def named_rules(text: str) -> set[str]:
    """Return all rule ids that comments name."""
    return silenced_in_file(text).union(*silenced_lines(text).values())
