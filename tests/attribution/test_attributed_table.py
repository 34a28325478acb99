"""The name of the results table: valid SQL without quotes, and different for each topic prefix."""

import pytest

from examples.attribution.attributed_table import results_table
from examples.attribution.settings import Settings

TABLES = {
    "": "ad_attributed",
    "team.": "team_ad_attributed",
    "team-a.": "team_a_ad_attributed",
    "team.a.": "team__a_ad_attributed",
    "mine.micro-batch.": "mine__micro_batch_ad_attributed",
    "a" * 41 + ".": "a" * 41 + "_ad_attributed",
}


@pytest.mark.parametrize(("prefix", "table"), TABLES.items())
def test_each_topic_prefix_has_its_own_table(prefix: str, table: str) -> None:
    """Dots and hyphens in a prefix give different table names, and the offsets table's name fits into 63 bytes."""
    assert table == results_table(Settings(topic_prefix=prefix))
    assert len(f"{table}_offsets") <= 63


@pytest.mark.parametrize("prefix", ["a_b.", "A.B.", "1run.", "run", "run-", "a..b.", "a--b.", "ä.", 'a";--.', "a.\n"])
def test_prefix_whose_table_could_be_shared_is_refused(prefix: str) -> None:
    """A name that would need quotes, or that equals another prefix's name, is rejected before a table is created."""
    with pytest.raises(ValueError, match=r"its table with another prefix; use a form such as 'team-a\.run1\.'"):
        results_table(Settings(topic_prefix=prefix))


def test_prefix_that_postgresql_would_cut_is_refused() -> None:
    """Beyond 63 bytes, the tables of results and offsets would get the same name."""
    with pytest.raises(ValueError, match="shorten the prefix by 2 bytes"):
        results_table(Settings(topic_prefix="a" * 43 + "."))
