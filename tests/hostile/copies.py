import json
from pathlib import Path

from tests.hostile.case import (
    HOME,
    INPUT,
    OUTSIDE,
    SECRET,
    Build,
    Case,
    file,
    link,
    pipe,
    sparse,
    together,
    without_access,
)

NAME = "spark-real-time-mode"
ENTRY = {"path": "SKILL.md", "sha256": "0" * 64}


def _manifest(entries: object, name: object = NAME) -> str:
    return json.dumps({"name": name, "files": entries})


MANIFESTS: dict[str, str | bytes] = {
    "path outside": _manifest([ENTRY | {"path": f"../../../{OUTSIDE}/secret.py"}]),
    "absolute path": _manifest([ENTRY | {"path": "/etc/passwd"}]),
    "control letters": _manifest([ENTRY | {"path": "\x1b[2J"}], "\x1b[2J"),
    "long path": _manifest([ENTRY | {"path": "a" * 300}]),
    "number as a path": _manifest([ENTRY | {"path": 5}]),
    "no list": _manifest(5),
    "list as the whole": "[]",
    "nested": "[" * 100_000,
    "long number": '{"name": ' + "9" * 5000 + "}",
    "bytes": b"\xff\xfe{",
    "empty": "",
    "other name": _manifest([], "other"),
    "zero byte": _manifest([ENTRY | {"path": "a\0b"}]),
    "half a letter": '{"name": "\\ud800", "files": []}',
    "many": _manifest([ENTRY | {"path": f"a{number}"} for number in range(100_000)]),
}
COPY = f"skills/{NAME}"
BUILDS: dict[str, Build] = {
    **{f"manifest with {name}": file(f"{COPY}/manifest.json", text) for name, text in MANIFESTS.items()},
    "sparse manifest": sparse(f"{COPY}/manifest.json", 3_000_000_000),
    "pipe as a manifest": pipe(f"{COPY}/manifest.json"),
    "manifest outside": link(f"{COPY}/manifest.json", f"../../../{OUTSIDE}/secret.py"),
    "sparse file": together(
        file(f"{COPY}/manifest.json", _manifest([ENTRY])), sparse(f"{COPY}/SKILL.md", 3_000_000_000)
    ),
    "pipe as a file": together(file(f"{COPY}/manifest.json", _manifest([ENTRY])), pipe(f"{COPY}/SKILL.md")),
    "file outside": together(
        file(f"{COPY}/manifest.json", _manifest([ENTRY])), link(f"{COPY}/SKILL.md", f"../../../{OUTSIDE}/secret.py")
    ),
    "folder outside": link(COPY, f"../../{OUTSIDE}"),
    "folder as a file": file(f"{COPY}/SKILL.md/x", ""),
    "file as a folder": file(COPY, ""),
    "no access": together(file(f"{COPY}/x", ""), without_access("skills")),
}
ACTIONS = {"install": [], "force": ["--force"], "check": ["--check"], "uninstall": ["--uninstall"]}
PROJECT = ["install", "--project", ".", "--assistant", "claude-code"]
WRITTEN = (f"{INPUT}/skills", f"{INPUT}/.claude", f"{INPUT}/new", HOME)


def _home(folder: Path) -> None:
    (folder / HOME / ".claude").symlink_to(f"../{OUTSIDE}")


def _cases() -> list[Case]:
    cases = [
        Case(
            f"{action} {name}",
            ["install", "--to", "skills", *options],
            build,
            writes=WRITTEN,
            is_stranger=name == "no access",
        )
        for name, build in BUILDS.items()
        for action, options in ACTIONS.items()
        if action in {"install", "check"} or name.startswith(("manifest with p", "sparse", "pipe", "file", "folder"))
    ]
    cases += [
        Case(f"install {name}", arguments, build, writes=WRITTEN)
        for name, arguments, build in (
            ("project with a linked folder", PROJECT, link(".claude", f"../{OUTSIDE}")),
            ("project with a linked skills folder", PROJECT, link(".claude/skills", f"../../{OUTSIDE}")),
            ("check of a linked folder", [*PROJECT, "--check"], link(".claude", f"../{OUTSIDE}")),
            ("list of a linked folder", ["install", "--list", "--project", "."], link(".claude", f"../{OUTSIDE}")),
            ("uninstall of a linked folder", [*PROJECT, "--uninstall"], link(".claude", f"../{OUTSIDE}")),
            ("project that is a file", ["install", "--project", "x"], file("x", SECRET)),
            ("project with a long name", ["install", "--project", "a" * 300], file("x", "")),
            ("skills folder with a long name", ["install", "--to", "a" * 300], file("x", "")),
            ("skills folder that is a device", ["install", "--to", "/dev/null"], file("x", "")),
            ("skills folder below a file", ["install", "--to", "x/y"], file("x", "")),
            ("skills folder with control letters", ["install", "--to", "/proc/\x1b[2J"], file("x", "")),
            ("skills folder with a stray byte", ["install", "--to", "new\udcff"], file("x", "")),
            ("list", ["install", "--list"], file("x", "")),
            ("nobody", ["install"], file("x", "")),
        )
    ]
    return cases + [
        Case(f"install without HOME {number}", arguments, file("x", ""), environment={"HOME": None}, is_stranger=True)
        for number, arguments in enumerate((["install", "--check"], ["install", "--list"], [*PROJECT, "--check"]))
    ]


CASES = _cases()
