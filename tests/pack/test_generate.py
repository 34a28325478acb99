from pathlib import Path

import pytest

from scripts.pack import generate
from scripts.pack.generate import excerpt
from scripts.pack.version import PLACES, project


def test_router_has_the_order_of_the_navigation_and_a_new_page(copied: Path) -> None:
    (copied / "references/new_page.md").write_text("# New page\n\n*Read when it is new.*\n")
    site = copied / "mkdocs.yml"
    site.write_text(
        site.read_text()
        .replace("      - references/state.md\n", "")
        .replace("  - Write:\n", "  - Write:\n      - references/state.md\n")
    )

    generate.write_all(copied)

    lines = (copied / "SKILL.md").read_text().partition("<!-- generated: router -->\n")[2].splitlines()
    assert lines[0].startswith("- [State](references/state.md): ")
    assert "- [New page](references/new_page.md): it is new" in lines
    [errors] = [line for line in lines if "references/errors" in line]
    assert errors.startswith("- [Errors](references/errors.md): ")
    assert "; [at start](references/errors_at_start.md), [while running](" in errors


def test_changed_version_and_address_reach_every_file_that_states_them(copied: Path) -> None:
    """A release changes one line of `pyproject.toml`; the manifest contains the version."""
    changed_file, old = copied / "pyproject.toml", project(copied)["version"]
    text = changed_file.read_text().replace(f'\nversion = "{old}"\n', '\nversion = "7.8.9"\n')
    urls = '[project.urls]\nDocumentation = "https://a.b/c"\n\n[project.scripts]'
    changed_file.write_text(text.replace("[project.scripts]", urls))

    changed = {path.relative_to(copied).as_posix() for path in generate.write_all(copied)}

    assert {*(name for kind, name, _ in PLACES if kind != "name"), "manifest.json"} == changed
    values = {"version": "7.8.9", "site": '"https://a.b/c"', "name": f'"{project(copied)["name"]}"'}
    assert [] == [name for kind, name, _ in PLACES if values[kind] not in (copied / name).read_text()]


def test_file_that_no_longer_states_its_version_is_reported(copied: Path) -> None:
    citation = copied / "CITATION.cff"
    citation.write_text(citation.read_text().replace("version: 0", "release: 0"))

    with pytest.raises(ValueError, match=r"CITATION\.cff has no line that matches .* add a line with 0"):
        generate.write_all(copied)


def test_conditions_of_a_measurement_are_stated_once_per_page(copied: Path) -> None:
    page = copied / "references/new_page.md"
    part = "<!-- generated: measured-other-engines {} -->\n<!-- end -->\n"
    page.write_text("# New page\n\n" + part.format("stateless") + part.format("stateful") + part.format("stateful"))

    text = generate.render_page(copied, page)

    assert 1 == text.count("Machine: ")
    assert 2 == text.count(
        "Measured in the `make bench-other-engines PUBLISH=1` runs described in [New page](#new-page)."
    )
    assert 2 == text.count("| stateful: engine |")


def test_excerpt_includes_decorators_and_a_missing_name_is_reported(tmp_path: Path) -> None:
    run = '@decorated\ndef run(a):\n    """Run."""\n    return a\n'
    (tmp_path / "m.py").write_text(f"LIMIT = 3\n\n\n{run}")

    assert run == excerpt(tmp_path, "m.py:run")
    for target, missing in (("n.py:run", "'n.py'"), ("m.py:gone", "'gone'")):
        with pytest.raises(ValueError, match=missing):
            excerpt(tmp_path, target)
