import ast
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pytest_examples import CodeExample

from scripts.pack import files
from spark_rtm.text import markdown

Fate = Literal["run", "raises", "excerpt", "requires", "other"]


@dataclass(frozen=True)
class Example:
    page: str
    fence: markdown.Fence

    @property
    def fate(self) -> Fate:
        """The required outcome of the code; `other` for code that is not Python."""
        if not self.fence.is_python:
            return "other"
        declared: list[Fate] = [fate for fate in ("excerpt", "raises", "requires") if fate in self.fence.options]
        return declared[0] if declared else "run"

    @property
    def starts_query(self) -> bool:
        return ".start(" in self.fence.code or ".toTable(" in self.fence.code

    @property
    def keeps_queries(self) -> bool:
        """Return whether the code blocks in `keep` until Ctrl-C."""
        return self.fate == "run" and bool(re.search(r"^ *keep\(", self.fence.code, re.MULTILINE))

    @property
    def mode(self) -> str:
        return self.fence.options.get("mode", "real-time")

    def __str__(self) -> str:
        """Return `page:line`, the form that editors open from the report of a failed test."""
        return f"{self.page}:{self.fence.line}"

    def with_code(self, code: str) -> "Example":
        return replace(self, fence=replace(self.fence, code=code))

    def as_code_example(self) -> CodeExample:
        path = files.ROOT / self.page
        example: CodeExample = CodeExample.create(self.fence.code, path=path, start_line=self.fence.line)
        return example


def examples_of(path: Path, root: Path = files.ROOT) -> list[Example]:
    name = files.relative(root, path)
    return [Example(name, fence) for fence in markdown.fences(path.read_text(encoding="utf-8"))]


def definition_of(path: Path, name: str) -> Any:
    for fence in markdown.fences(path.read_text(encoding="utf-8")):
        if fence.language == "python" and re.search(rf"^(?:def|class) {name}\b", fence.code, re.MULTILINE):
            wanted = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
            body: list[ast.stmt] = [node for node in ast.parse(fence.code).body if isinstance(node, wanted)]
            names: dict[str, Any] = {}
            exec(compile(ast.Module(body, []), str(path), "exec"), names)
            return names[name]
    raise ValueError(f"{path.name} defines no {name!r}")


EXAMPLES = [example for path in files.pages(files.ROOT) for example in examples_of(path)]


def spark_submit_of(page: str) -> str:
    text = (files.ROOT / "references" / page).read_text(encoding="utf-8")
    code = next(fence.code for fence in markdown.fences(text) if fence.language == "bash")
    (line,) = (line for line in code.replace("\\\n", " ").splitlines() if "spark-submit " in line)
    return line.split("spark-submit ")[1]
