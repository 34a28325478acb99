"""
Extract the source code of a named symbol from a module.

A target has the form `path/to/module.py:Symbol`. The excerpt includes the symbol's decorators and the comment above
them. Because symbols are selected by name, excerpts stay correct when lines move.
"""

import ast
from pathlib import Path


def excerpt(root: Path, target: str) -> str:
    """
    Return the source code of `path:name` or `path:Class.method`, dedented and ending with a newline.

    Without a name, return the whole file. Raise ValueError if the file or the symbol does not exist.
    """
    path, _, name = target.partition(":")
    file = root / path
    if not file.is_file():
        raise ValueError(f"excerpt {target!r}: file {path!r} does not exist")
    if not name:
        return file.read_text(encoding="utf-8")
    lines = file.read_text(encoding="utf-8").splitlines()
    node: ast.stmt | ast.Module = ast.parse("\n".join(lines))
    for part in name.split("."):
        matches = [child for child in getattr(node, "body", []) if part in _names(child)]
        if not matches:
            raise ValueError(f"excerpt {target!r}: {path} does not define {name!r}")
        node = matches[0]
    assert isinstance(node, ast.stmt)
    start = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
    while start > 1 and lines[start - 2].lstrip().startswith("#"):
        start -= 1
    symbol_lines = lines[start - 1 : node.end_lineno]
    indent = len(symbol_lines[0]) - len(symbol_lines[0].lstrip())
    return "\n".join(line[indent:] for line in symbol_lines) + "\n"


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}
