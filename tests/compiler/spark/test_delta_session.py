"""The state of a job is a Delta table like any other: Spark reads it, with Delta fetched by Spark's own resolver."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from compat.compiler.spark.driver.session import delta_session
from compat.tables import read_table
from tests.compiler.spark.test_restore import WORDS, stopped

PAGES = Path(__file__).parents[3] / "docs" / "pages"


def test_the_state_as_an_arrow_table(cluster: Any) -> None:
    _, path = stopped(cluster)
    table = read_table(path, operator="count", state="count")
    assert dict(zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True)) == Counter(WORDS[:120])


@pytest.mark.spark
@pytest.mark.slow
def test_spark_reads_a_savepoint(cluster: Any, tmp_path: Path) -> None:
    """Slow: it may have to fetch Delta's packages."""
    _, path = stopped(cluster)
    spark = delta_session(str(tmp_path / "spark.log"))
    try:
        rows = spark.read.format("delta").load(path).where("state = 'count' and not tombstone").select("key").distinct()
        assert rows.count() == len(set(WORDS[:120]))
        view = re.search(r"```sql\n(.*?)```", (PAGES / "state.md").read_text(), re.S)
        assert view is not None
        spark.sql(view[1].replace("{state}", path))
        current = spark.sql("select uid, count(*) from current_state where state = 'count' group by uid").collect()
        assert list(map(tuple, current)) == [("count", len(set(WORDS[:120])))]
        (comment,) = {
            row["comment"] for row in spark.sql(f"describe delta.`{path}`").collect() if row["col_name"] == "key"
        }
        assert comment.startswith("The key")
        assert spark.createDataFrame(read_table(path, operator="count", state="count")).count() == len(set(WORDS[:120]))
    finally:
        spark.stop()
