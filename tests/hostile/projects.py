import contextlib
import os
import socket
from dataclasses import replace
from pathlib import Path

from tests.hostile.case import INPUT, MARKER, OUTSIDE, Build, Case, file, link, pipe, sparse, together, without_access
from tests.hostile.texts import PYTHON

JOB = file("job.py", PYTHON)


def _socket(folder: Path) -> None:
    with contextlib.chdir(folder / INPUT), socket.socket(socket.AF_UNIX) as server:
        server.bind("server.py")


def _deep(folder: Path) -> None:
    with contextlib.chdir(folder / INPUT):
        for _ in range(1500):
            Path("d").mkdir()
            os.chdir("d")
        Path("job.py").write_text(PYTHON)


def _many(folder: Path) -> None:
    for number in range(150):
        (folder / INPUT / f"job{number}.py").write_text(PYTHON)


NAMES = [
    "a" * 252 + ".py", "n\n::error file=x::forged.py", "\x1b[2J\x07.py", "\udcff.py", "--fix.py", " .py",
    "é \u202e.py", "'$(touch executed)'.py", "a:7: error.py", "[a-z]*.py", "%0A%1b.py",
]  # fmt: skip
SHOWN = {"é \u202e.py": "u202e", "a:7: error.py": "7", "%0A%1b.py": "0A", "n\n::error file=x::forged.py": "n",
         "\x1b[2J\x07.py": "1b", "\udcff.py": "dcff"}  # fmt: skip
"""The part of a name that the escaped name still contains."""
FOLDERS: dict[str, tuple[Build, list[str]]] = {
    "pipe": (pipe("pipe.py"), ["pipe.py"]),
    "socket": (_socket, ["server.py"]),
    "device": (link("zero.py", "/dev/zero"), ["zero.py"]),
    "link outside": (link("out.py", f"../{OUTSIDE}/secret.py"), ["out.py"]),
    "linked folder outside": (link("out", f"../{OUTSIDE}"), []),
    "link to itself": (link("loop.py", "loop.py"), []),
    "folder with a suffix": (file("folder.py/job.py", PYTHON), ["folder.py"]),
    "no access to a file": (together(JOB, without_access("job.py")), ["job.py"]),
    "no access to a folder": (together(file("sub/job.py", PYTHON), without_access("sub")), ["sub"]),
    "deep": (_deep, ["d/d/d"]),
    "many": (_many, ["job0.py", "job149.py"]),
    "sparse": (together(file("job.md", "# Real-time mode\n"), sparse("job.md", 50_000_000)), ["job.md"]),
}
CLOSED = together(file("sub/job.py", PYTHON), without_access("sub"))
PATHS = ["a" * 300, "sub/job.py", "\udcff", "a/" * 2000, "/dev/zero", "/dev/stdin", "/proc/self/mem", "", "-", "*"]
TEXTS: dict[str, str | bytes] = {
    "number": "[tool]\nrtm-lint = 3",
    "brackets": "tool" + "=[" * 3000 + " # tool.rtm-lint",
    "bytes": b"[tool.rtm-lint]\nselect = ['\xff']",
    "long number": "[tool.rtm-lint]\nselect = " + "9" * 5000,
    "control": '[tool.rtm-lint]\nselect = ["\\u001b[2J"]',
    "many names": f"[tool.rtm-lint]\nselect = {['x' * 50] * 5000}",
    "patterns": f"[tool.rtm-lint]\nexclude = {['*a' * 200 + 'b'] * 50}",
    "classes": f"[tool.rtm-lint]\nexclude = {['[' * 300, '[!' * 200, '**/' * 300]}",
    "many keys": "[tool.rtm-lint]\n" + "".join(f"a{n} = 1\n" for n in range(50_000)),
    "secret": f"[tool.rtm-lint]\n# {'x' * 9}\nselect = 'a\n",
}
SETTINGS = {
    **{name: file("pyproject.toml", text) for name, text in TEXTS.items()},
    "pipe": pipe("pyproject.toml"),
    "device": link("pyproject.toml", "/dev/zero"),
    "sparse": together(file("pyproject.toml", "[tool.rtm-lint]\n"), sparse("pyproject.toml", 300_000_000)),
    "folder": file("pyproject.toml/x", ""),
    "no access": together(file("pyproject.toml", "[tool.rtm-lint]\n"), without_access("pyproject.toml")),
}
STDIN = {
    "bytes": bytes(range(256)) * 40,
    "latin": b"# \xe9 spark realTime\n",
    "utf-16": PYTHON.encode("utf-16"),
    "long": PYTHON.encode() + b"# x\n" * 5_000_000,
    "brackets": PYTHON.encode() + b"(" * 100_000,
}
COMMANDS = {"text": ["lint", "."], "diff": ["lint", "--diff", "."], "github": ["lint", "--format", "github", "."]}
OPTIONS = [
    ["--select", "x" * 100_000],
    ["--exclude", "*a" * 5000 + "b"],
    ["--explain", "\udcff\x1b[2J"],
    ["--stdin-filename", "\x1b[2J.py"],
    ["--stdin-filename", f"../{OUTSIDE}/secret.py"],
    ["--engine", MARKER[:3]],
]


def _folder_cases() -> list[Case]:
    cases = []
    for name, (build, named) in FOLDERS.items():
        cases.append(Case(f"lint folder {name}", ["lint", "."], build, named=named, is_stranger=True))
        fix = Case(f"lint --fix folder {name}", ["lint", "--fix", "."], build, named=named, is_stranger=True)
        # As the owner of the files, the command corrects them all.
        cases.append(replace(fix, named=[], is_stranger=False, writes=(INPUT,)) if name == "many" else fix)
    return cases


CASES = [
    *_folder_cases(),
    *[Case(f"lint path {path[:20]!r} {len(path)}", ["lint", path], CLOSED, is_stranger=True) for path in PATHS],
    *[
        Case(f"lint options {number}", ["lint", *options], JOB, stdin=PYTHON.encode())
        for number, options in enumerate(OPTIONS)
    ],
    *[
        Case(f"lint name {name!r} {kind}", arguments, file(name, PYTHON), named=[SHOWN.get(name, name[:20].strip())])
        for name in NAMES
        for kind, arguments in COMMANDS.items()
    ],
    *[
        Case(f"lint settings {name}", ["lint", "."], together(JOB, build), is_stranger=True)
        for name, build in SETTINGS.items()
    ],
    *[
        Case(f"lint stdin {name} {option} {path}", ["lint", "--stdin-filename", path, "-", option], JOB, stdin=data)
        for name, data in STDIN.items()
        for option, path in (("--strict", "job.py"), ("--strict", "page.md"), ("--fix", "job.py"))
    ],
]
