"""
Define the linter's file formats: `SUFFIXES` maps file suffixes to languages, and `READERS` maps languages to readers.

Code blocks in pages use the same readers. Python files, notebooks and pages can contain other languages, so `engine.py`
chooses their readers.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from spark_rtm.lint.facts import Facts
from spark_rtm.lint.files.code import read_jvm, read_shell, read_sql
from spark_rtm.lint.files.definitions import read_definitions
from spark_rtm.lint.files.documents import read_json, read_yaml
from spark_rtm.lint.files.hcl import read_hcl

PARSERS: dict[str, Callable[[str], list[Any]]] = {
    **dict.fromkeys(("json", "jsonc"), read_json),
    **dict.fromkeys(("yaml", "yml"), read_yaml),
    **dict.fromkeys(("hcl", "tf", "terraform"), read_hcl),
}
"""Parsers for the definition languages."""
READERS: dict[str, Callable[[str], Facts]] = {
    "scala": read_jvm,
    "java": partial(read_jvm, is_java=True),
    "sql": read_sql,
    **dict.fromkeys(("bash", "sh", "shell", "console"), read_shell),
    **{language: partial(read_definitions, read=parser) for language, parser in PARSERS.items()},
}
"""Readers for the languages that contain no other language."""
PROGRAMS = {"scala": partial(read_jvm, is_excerpt=False), "java": partial(read_jvm, is_java=True, is_excerpt=False)}
"""Readers for complete files of languages whose excerpts are read differently."""
SUFFIXES = {
    ".py": "python",
    ".ipynb": "notebook",
    **dict.fromkeys((".md", ".markdown"), "page"),
    **{f".{language}": language for language in ("scala", "java", "sql", "json", "yaml", "yml", "tf")},
}
"""Languages by file suffix."""
PAGES = {suffix for suffix, language in SUFFIXES.items() if language == "page"}
DEFINITIONS = {suffix for suffix, language in SUFFIXES.items() if language in PARSERS}
