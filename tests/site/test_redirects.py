from pathlib import Path

import pytest

from scripts.pack import files
from scripts.pack.checks.links import anchors
from scripts.site import redirects


def missing(root: Path, places: dict[str, str]) -> list[str]:
    names = []
    for old, place in places.items():
        page, _, anchor = place.partition("#")
        path = root / "references" / page
        if not path.is_file() or (anchor and anchor not in anchors(path)):
            names.append(old)
    return names


def test_every_old_address_leads_to_a_section() -> None:
    assert [] == missing(files.ROOT, redirects.REDIRECTS)


@pytest.mark.parametrize("place", ["errors.md#no-such-section", "no_such_page.md"])
def test_missing_place_would_be_found(place: str) -> None:
    assert ["old"] == missing(files.ROOT, {"old": place})


def test_page_of_an_old_address_links_and_loads_the_new_place() -> None:
    page = redirects.pages(files.ROOT)["references/slot_calculator.md"]

    place = "cluster_and_slots.{}#how-many-slots-does-a-query-need"
    assert f"redirect: {place.format('html')}\n" in page
    assert f"[Cluster and slots]({place.format('md')})" in page
