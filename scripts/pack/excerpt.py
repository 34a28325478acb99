"""
Cut a symbol out of a module, by name, as it stands there.

A target is `path/to/module.py:Symbol`. The excerpt includes decorators and the comment above the symbol.
A page never shows code that differs from the code that runs, and never breaks because lines have moved.
"""

import ast
from pathlib import Path


def excerpt(root: Path, target: str) -> str:
    """
    Return the source of `path:name`, or of `path:Class.method`, dedented and ending with a newline.

    Raises ValueError if the file or the name is not there.
    """
    path, _, name = target.partition(":")
    file = root / path
    if not file.is_file():
        raise ValueError(f"excerpt {target!r}: there is no file {path!r}")
    lines = file.read_text(encoding="utf-8").splitlines()
    found: ast.stmt | ast.Module = ast.parse("\n".join(lines))
    for part in name.split("."):
        inside = [node for node in getattr(found, "body", []) if part in _names(node)]
        if not inside:
            raise ValueError(f"excerpt {target!r}: {path} defines no {name!r}")
        found = inside[0]
    assert isinstance(found, ast.stmt)
    start = min([found.lineno, *(node.lineno for node in getattr(found, "decorator_list", []))])
    while start > 1 and lines[start - 2].lstrip().startswith("#"):
        start -= 1
    kept = lines[start - 1 : found.end_lineno]
    indent = len(kept[0]) - len(kept[0].lstrip())
    return "\n".join(line[indent:] for line in kept) + "\n"


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}
