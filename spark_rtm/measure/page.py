"""Write a self-contained HTML page with verdicts, a figure and tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:1000px;margin:24px auto;padding:0 16px;color:#202124;background:#fff}
table{border-collapse:collapse;margin:8px 0 24px;display:block;overflow-x:auto}
th,td{text-align:left;padding:3px 16px 3px 0;border-bottom:1px solid #dadce0}
td+td{font-variant-numeric:tabular-nums}
svg{width:100%;min-width:700px;height:auto}svg text{font:12px system-ui,sans-serif;fill:#5f6368}
.good{color:#188038;font-weight:600}.bad{color:#d93025;font-weight:600}figure{margin:16px 0;overflow-x:auto}
"""


@dataclass(frozen=True)
class Table:
    """A table below a heading."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[object]]


def write(path: Path, title: str, verdicts: Sequence[tuple[str, bool]], figure: str, tables: Sequence[Table]) -> Path:
    """Write a page with the verdicts (text and success), a figure and the tables, and return its path."""
    body = "".join(f'<p class="{"good" if good else "bad"}">{escape(text)}</p>' for text, good in verdicts)
    content = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body><h1>{escape(title)}</h1>\n{body}\n"
        f"<figure>{figure}</figure>\n{''.join(map(_table, tables))}</body></html>\n"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def machine_of(machine: Mapping[str, object]) -> Table:
    """Return a table of the machine and its software versions."""
    rows = [(name.replace("_", " "), value) for name, value in machine.items() if value]
    return Table("Machine", ("what", "value"), rows)


def _table(table: Table) -> str:
    if not table.rows:
        return ""
    header = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.header)
    rows = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in table.rows)
    return f"<h2>{escape(table.title)}</h2><table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table>\n"
