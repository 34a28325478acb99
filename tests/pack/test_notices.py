import json
import re
import zipfile
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import pytest

from benchmarks.other_engines.engine import IVY_FILES
from scripts.pack import files, notices
from spark_rtm.services import packages

LICENCES = notices.read_licences(files.ROOT)
# Metadata without an SPDX expression states a licence in many ways.
STATED_AS = {
    "Apache-2.0": r"(The )?Apache( Software)?( License)?,?( Version)?( 2\.0)?|https?://www\.apache\.org/licenses/LICENSE-2\.0.*",
    "BSD-2-Clause": r"BSD|.*BSD-2-Clause.*|(The )?BSD 2-Clause License",
    "BSD-3-Clause": r"(3-Clause )?BSD( 3-Clause)?( License)?|http://www\.eclipse\.org/org/documents/edl-v10\.php",
    "CC0-1.0 OR BSD-2-Clause": r"http://creativecommons\.org/publicdomain/zero/.*, https://opensource.org/licenses/BSD-2-Clause",
    "GPL-2.0-only WITH Classpath-exception-2.0": r"GNU General Public License v2 \(GPLv2\)",
    "MIT": r"(The )?MIT License|http://www\.opensource\.org/licenses/mit-license\.php",
    "MPL-2.0": r"Mozilla Public License 2\.0 \(MPL 2\.0\)",
    "PSF-2.0": r"Python Software Foundation License",
}
POM_LICENCE = re.compile(r"<license>\s*<name>\s*([^<]+?)\s*</name>")
BUNDLE_LICENCE = re.compile(r'^Bundle-License: "?([^";\r\n]+)', re.MULTILINE)


def _of_package(name: str) -> list[str]:
    """Return the licence in a package's metadata: the SPDX expression, or else its licence, classifiers and file."""
    found = metadata.metadata(name)
    if expressions := found.get_all("License-Expression", []):
        return expressions
    classifiers = [text.rpartition(" :: ")[2] for text in found.get_all("Classifier", []) if text.startswith("License")]
    licence_files = [file for file in metadata.files(name) or [] if file.name.startswith("LICENSE")]
    lines = [file.read_text().strip().partition("\n")[0] for file in licence_files[:1]]
    return [*found.get_all("License", []), *classifiers, *lines]


def _of_jar(jar: Path) -> list[str]:
    """Return the licences in a jar: those of its POM and its manifest, and the first line of its licence file."""
    with zipfile.ZipFile(jar) as archive:
        texts = {name: archive.read(name).decode(errors="replace") for name in archive.namelist() if _may_state(name)}
    stated = [match for name, text in texts.items() if name.endswith("pom.xml") for match in POM_LICENCE.findall(text)]
    # A line of a manifest continues on the next line after a space.
    stated += BUNDLE_LICENCE.findall(re.sub(r"\r?\n ", "", texts.get("META-INF/MANIFEST.MF", "")))
    return [*stated, *(text.strip().partition("\n")[0].strip() for name, text in texts.items() if "LICENSE" in name)]


def _may_state(name: str) -> bool:
    return bool(re.fullmatch(r"META-INF/(MANIFEST\.MF|maven/.*/pom\.xml)|(META-INF/)?LICENSE(\.txt)?", name))


def _differences(kind: str, stated_by_name: Iterable[tuple[str, list[str]]]) -> list[str]:
    different = []
    for name, stated in stated_by_name:
        licence = LICENCES[kind][name]
        form = STATED_AS.get(licence, "")
        is_stated = any(text == licence or (form and re.fullmatch(form, text)) for text in stated)
        if not is_stated and name not in LICENCES["sources"]:
            different.append(f"{name}: {licence} is not in {stated}")
    return different


def test_licences_of_packages_are_those_of_their_metadata() -> None:
    present = {re.sub("[-_.]+", "-", found.name.lower()) for found in metadata.distributions()}
    installed = [name for name in LICENCES["packages"] if name in present]

    assert [] == _differences("packages", ((name, _of_package(name)) for name in installed))
    # A platform may lack a few packages, such as the Java runtime.
    assert len(installed) > 0.9 * len(LICENCES["packages"])


@pytest.mark.services
def test_licences_of_jars_are_those_of_the_jars() -> None:
    """Each jar of the broker, of Spark and, if downloaded, of other engines states its licence, or has a source."""
    paths = [*packages.broker_jars(), *packages.avro_jars(), *packages.connector().jars]
    others = [IVY_FILES / f"{name}.xml" for name in ("kafka_streams", "flink_connector")]
    paths += [path for file in others if packages.is_fetched(file) for path in packages.jars(file)]
    names = {f"{name}-{version}.jar": name for name, version in notices.jars(files.ROOT)}

    assert [] == _differences("jars", ((names[path.name], _of_jar(path)) for path in paths))


def test_wrong_licence_would_be_found() -> None:
    expected = ["kafka-clients: Apache-2.0 is not in ['MIT']", "caffeine: Apache-2.0 is not in []"]

    assert expected == _differences("jars", [("kafka-clients", ["MIT"]), ("caffeine", []), ("hash4j", [])])


def test_every_listed_licence_belongs_to_a_pinned_name() -> None:
    assert {name for name, *_ in notices.packages(files.ROOT)} == set(LICENCES["packages"])
    assert {name for name, _ in notices.jars(files.ROOT)} == set(LICENCES["jars"])
    assert set(LICENCES["sources"]) <= set(LICENCES["jars"])


def test_scripts_of_the_site_are_listed() -> None:
    page = (files.ROOT / files.NOTICES).read_text(encoding="utf-8").partition("## The site")[2]
    theme = Path(str(metadata.distribution("mkdocs-material").locate_file("material/templates/assets/javascripts")))
    maps = [json.loads(path.read_text(encoding="utf-8")) for path in theme.rglob("*.js.map")]
    libraries = {
        match[1]
        for source in maps
        for path in source["sources"]
        if (match := re.search(r"node_modules/((?:@[^/]+/)?[^/]+)", path))
    }

    assert {"lunr", "rxjs"} <= libraries
    assert set() == {name for name in libraries if f"`{name}`" not in page}
