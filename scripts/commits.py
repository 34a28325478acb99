"""
Check each commit: its subject must fit on one line, and `skills.py validate` must pass on its files.

The checked commits are those since the last tag, at most the last 60. Commits older than this check are omitted.
In a checkout without history, only HEAD is checked.
"""

import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MAX_COMMITS = 60
MAX_SUBJECT_LETTERS = 72
PROCESSES = 2


def main(root: Path) -> int:
    """Print the problems of each commit, the oldest commit first. Return 1 if there are any, else 0."""
    commits = commits_since_last_tag(root)
    print(f"Validating {len(commits)} commits", flush=True)
    with ThreadPoolExecutor(PROCESSES) as pool:
        problems = [text for texts in pool.map(lambda one: problems_of(root, one), commits) for text in texts]
    print(*problems, sep="\n", end="\n" if problems else "")
    return int(bool(problems))


def commits_since_last_tag(root: Path) -> list[str]:
    """Return the hashes of the commits to check, the oldest first."""
    if _git(root, "rev-parse", "--is-shallow-repository") == "true":
        print(
            "This checkout has no history, so only HEAD is checked; to check more, run `git fetch --unshallow --tags`"
        )
        return [_git(root, "rev-parse", "HEAD")]
    first = _git(root, "log", "--diff-filter=A", "--format=%H", "--", "scripts/commits.py").split()[-1:]
    older = [f"^{one}" for one in [*_git(root, "tag", "--merged", "HEAD").split(), *first]]
    listed = _git(root, "rev-list", "--no-merges", f"--max-count={MAX_COMMITS}", "HEAD", *older)
    return listed.split()[::-1]


def problems_of(root: Path, commit: str) -> list[str]:
    """Return the problems of one commit, one per line."""
    subject, problems = _git(root, "log", "-1", "--format=%s", commit), list[str]()
    if len(subject) > MAX_SUBJECT_LETTERS:
        problems.append(f"its subject has {len(subject)} characters; use at most {MAX_SUBJECT_LETTERS}")
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", commit], cwd=root, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x"], cwd=folder, input=archive, check=True)
        command = [sys.executable, "scripts/skills.py", "validate"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        problems += [*done.stdout.splitlines(), *done.stderr.splitlines()] or [f"status {done.returncode}"]
    return [f"{commit[:8]} {subject!r}: {problem}" for problem in problems]


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{root} has no commits to check ({done.stderr.strip()}); run this in a clone")
    return done.stdout.strip()


if __name__ == "__main__":
    raise SystemExit(main(Path.cwd()))
