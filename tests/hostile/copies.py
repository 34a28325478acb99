import json

from tests.hostile.case import HOME, INPUT, OUTSIDE, Build, Case, file, link, pipe, sparse, together, without_access

NAME = "spark-real-time-mode"
ENTRY = {"path": "SKILL.md", "sha256": "0" * 64}
COPY = f"skills/{NAME}"


def _manifest(*entries: object, name: str = NAME) -> Build:
    return file(f"{COPY}/manifest.json", json.dumps({"name": name, "files": entries}))


BUILDS: dict[str, Build] = {
    "control letters": _manifest(ENTRY | {"path": "\x1b[2J"}, name="\x1b[2J"),
    "zero byte": _manifest(ENTRY | {"path": "a\0b"}),
    "many": _manifest(*[ENTRY | {"path": f"a{number}"} for number in range(100_000)]),
    "nested": file(f"{COPY}/manifest.json", "[" * 100_000),
    "bytes": file(f"{COPY}/manifest.json", b"\xff\xfe{"),
    "sparse manifest": sparse(f"{COPY}/manifest.json", 3_000_000_000),
    "pipe as a file": together(_manifest(ENTRY), pipe(f"{COPY}/SKILL.md")),
    "file as a folder": file(COPY, ""),
    "no access": together(file(f"{COPY}/x", ""), without_access("skills")),
}
ACTIONS: list[list[str]] = [[], ["--force"], ["--check"], ["--uninstall"]]
PROJECT = ["install", "--project", ".", "--assistant", "claude-code"]
LINKED, NOTHING = link(".claude", f"../{OUTSIDE}"), file("x", "")
CALLS: dict[str, tuple[list[str], Build]] = {
    "project with a linked folder": (PROJECT, LINKED),
    "uninstall of a linked folder": ([*PROJECT, "--uninstall"], LINKED),
    "project that is a file": (["install", "--project", "x"], NOTHING),
    "skills folder that is a device": (["install", "--to", "/dev/null"], NOTHING),
    "skills folder with control letters": (["install", "--to", "/proc/\x1b[2J"], NOTHING),
    "skills folder with a stray byte": (["install", "--to", "new\udcff"], NOTHING),
}
WRITTEN = (f"{INPUT}/skills", f"{INPUT}/.claude", f"{INPUT}/new", HOME)
CASES = [
    *[
        Case(f"install {name} {options}", ["install", "--to", "skills", *options], build, writes=WRITTEN,
             is_stranger=name == "no access")
        for name, build in BUILDS.items()
        for options in ACTIONS
    ],
    *[Case(f"install {name}", arguments, build, writes=WRITTEN) for name, (arguments, build) in CALLS.items()],
    *[
        Case(f"install without HOME {options}", ["install", *options], NOTHING, has_home=False, is_stranger=True)
        for options in (["--check"], ["--list"])
    ],
]  # fmt: skip
