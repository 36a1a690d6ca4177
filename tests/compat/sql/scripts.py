"""Pairs of SQL scripts, and what a check says of each: the rule that finds the change, or that there is none.

``golden/sql/plans.json.gz`` has the plans that Flink made of them; ``record.py`` writes it.
"""

from msgspec import Struct

SEQUENCE = (
    "'connector'='datagen','fields.id.kind'='sequence','fields.id.start'='1','fields.id.end'='1000',"
    "'rows-per-second'='10'"
)
COLUMNS = (
    "id BIGINT, k INT, k2 INT, v BIGINT, v2 BIGINT, name STRING, name2 STRING, ts TIMESTAMP(3), pt AS PROCTIME(), "
    "WATERMARK FOR ts AS ts - INTERVAL '1' SECOND"
)
A = f"CREATE TABLE a ({COLUMNS}) WITH ({SEQUENCE})"
B = f"CREATE TABLE b ({COLUMNS}) WITH ({SEQUENCE})"
VERSIONED = (
    "CREATE TABLE rates (id BIGINT, k INT, rate BIGINT, rate2 BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, "
    f"PRIMARY KEY (k) NOT ENFORCED) WITH ({SEQUENCE})"
)
MINI_BATCH = (
    "SET 'table.exec.mini-batch.enabled' = 'true'",
    "SET 'table.exec.mini-batch.allow-latency' = '1 s'",
    "SET 'table.exec.mini-batch.size' = '10'",
)


class Pair(Struct, frozen=True):
    """Two scripts; ``rule`` is what must be found, empty if nothing may be; ``level`` is that of the worst finding."""

    name: str
    old: str
    new: str
    rule: str
    level: str


def out(columns, connector="'connector'='print'", name="o"):
    """A sink."""
    return f"CREATE TABLE {name} ({columns}) WITH ({connector})"


def script(*statements):
    """The text of a script."""
    return ";\n".join(statements) + ";\n"


PAIRS: dict[str, Pair] = {}


def pair(name, columns, old, new, rule="", level="", before=(A,), before_new=None, columns_new=None):
    """A pair of queries over the tables, written to one sink."""

    def whole(before, columns, query):
        return script(*before, out(columns), f"INSERT INTO o {query}")

    PAIRS[name] = Pair(
        name,
        whole(before, columns, old),
        whole(before if before_new is None else before_new, columns_new or columns, new),
        rule,
        level or ("error" if rule else ""),
    )


def jobs(name, old, new, rule="", level=""):
    """A pair of whole scripts."""
    PAIRS[name] = Pair(name, script(*old), script(*new), rule, level or ("error" if rule else ""))


KV = "k INT, n BIGINT"
KVV = "k INT, n BIGINT, m BIGINT"
AGGREGATE, ROWS, KEYS, JOIN, TOP, WINDOW, OTHER = (f"CMP70{digit}" for digit in range(1, 8))

# aggregates
pair("same", KV, "SELECT k, SUM(v) FROM a GROUP BY k", "SELECT k, SUM(v) FROM a GROUP BY k")
pair("sum_other_column", KV, "SELECT k, SUM(v) FROM a GROUP BY k", "SELECT k, SUM(v2) FROM a GROUP BY k", AGGREGATE)
pair("max_min", KV, "SELECT k, MAX(v) FROM a GROUP BY k", "SELECT k, MIN(v) FROM a GROUP BY k", AGGREGATE)
pair("count_sum", KV, "SELECT k, COUNT(*) FROM a GROUP BY k", "SELECT k, SUM(v) FROM a GROUP BY k", AGGREGATE)
pair(
    "count_star_count_column",
    KV,
    "SELECT k, COUNT(*) FROM a GROUP BY k",
    "SELECT k, COUNT(v) FROM a GROUP BY k",
    AGGREGATE,
)
pair("count_star_count_one", KV, "SELECT k, COUNT(*) FROM a GROUP BY k", "SELECT k, COUNT(1) FROM a GROUP BY k")
pair(
    "count_distinct",
    KV,
    "SELECT k, COUNT(DISTINCT v) FROM a GROUP BY k",
    "SELECT k, COUNT(DISTINCT v2) FROM a GROUP BY k",
    AGGREGATE,
)
pair(
    "distinct_added",
    KV,
    "SELECT k, COUNT(v) FROM a GROUP BY k",
    "SELECT k, COUNT(DISTINCT v) FROM a GROUP BY k",
    AGGREGATE,
)
pair("avg_other_column", KV, "SELECT k, AVG(v) FROM a GROUP BY k", "SELECT k, AVG(v2) FROM a GROUP BY k", AGGREGATE)
pair(
    "filter_added",
    KV,
    "SELECT k, SUM(v) FROM a GROUP BY k",
    "SELECT k, SUM(v) FILTER (WHERE v > 10) FROM a GROUP BY k",
    AGGREGATE,
)
pair(
    "filter_changed",
    KV,
    "SELECT k, SUM(v) FILTER (WHERE v > 10) FROM a GROUP BY k",
    "SELECT k, SUM(v) FILTER (WHERE v > 20) FROM a GROUP BY k",
    AGGREGATE,
)
pair(
    "expression_changed",
    KV,
    "SELECT k, SUM(v * 2) FROM a GROUP BY k",
    "SELECT k, SUM(v * 3) FROM a GROUP BY k",
    AGGREGATE,
)
pair(
    "case_changed",
    KV,
    "SELECT k, SUM(CASE WHEN v > 1 THEN 1 ELSE 0 END) FROM a GROUP BY k",
    "SELECT k, SUM(CASE WHEN v > 2 THEN 1 ELSE 0 END) FROM a GROUP BY k",
    AGGREGATE,
)
pair(
    "reordered",
    KVV,
    "SELECT k, SUM(v), MAX(v2) FROM a GROUP BY k",
    "SELECT k, MAX(v2), SUM(v) FROM a GROUP BY k",
    AGGREGATE,
)
pair(
    "same_aggregates_other_output_order",
    "k INT, n BIGINT, m BIGINT",
    "SELECT k, n, m FROM (SELECT k, SUM(v) n, MAX(v2) m FROM a GROUP BY k)",
    "SELECT k, m, n FROM (SELECT k, SUM(v) n, MAX(v2) m FROM a GROUP BY k)",
)
pair(
    "aliases",
    KV,
    "SELECT k, SUM(v) AS x FROM a GROUP BY k",
    "SELECT g AS k, SUM(w) AS y FROM (SELECT k AS g, v AS w FROM a) GROUP BY g",
)
pair(
    "sink_columns_renamed",
    KV,
    "SELECT k, SUM(v) FROM a GROUP BY k",
    "SELECT k, SUM(v) FROM a GROUP BY k",
    columns_new="kk INT, nn BIGINT",
)
pair(
    "through_a_view",
    KV,
    "SELECT k, SUM(v) FROM a GROUP BY k",
    "SELECT g, SUM(w) FROM w1 GROUP BY g",
    before_new=(A, "CREATE VIEW w1 AS SELECT k AS g, v AS w FROM a"),
)
pair(
    "view_changed",
    KV,
    "SELECT g, SUM(w) FROM w1 GROUP BY g",
    "SELECT g, SUM(w) FROM w1 GROUP BY g",
    AGGREGATE,
    before=(A, "CREATE VIEW w1 AS SELECT k AS g, v AS w FROM a"),
    before_new=(A, "CREATE VIEW w1 AS SELECT k AS g, v2 AS w FROM a"),
)
pair(
    "listagg_other_column",
    "k INT, s STRING",
    "SELECT k, LISTAGG(name) FROM a GROUP BY k",
    "SELECT k, LISTAGG(name2) FROM a GROUP BY k",
    AGGREGATE,
)
pair(
    "listagg_separator",
    "k INT, s STRING",
    "SELECT k, LISTAGG(name, ',') FROM a GROUP BY k",
    "SELECT k, LISTAGG(name, ';') FROM a GROUP BY k",
    AGGREGATE,
)
pair(
    "first_last_value",
    KV,
    "SELECT k, FIRST_VALUE(v) FROM a GROUP BY k",
    "SELECT k, LAST_VALUE(v) FROM a GROUP BY k",
    AGGREGATE,
)
pair("select_distinct", "k INT", "SELECT DISTINCT k FROM a", "SELECT DISTINCT k2 FROM a", KEYS)
pair(
    "having_changed",
    KV,
    "SELECT k, SUM(v) FROM a GROUP BY k HAVING SUM(v) > 10",
    "SELECT k, SUM(v) FROM a GROUP BY k HAVING SUM(v) > 20",
)
pair(
    "having_added",
    KV,
    "SELECT k, SUM(v) AS s FROM a GROUP BY k HAVING SUM(v) > 10",
    "SELECT k, SUM(v) AS s FROM a GROUP BY k HAVING SUM(v) > 20 AND k > 1",
    ROWS,
)
pair(
    "cast_after",
    "k INT, n DOUBLE",
    "SELECT k, CAST(SUM(v) AS DOUBLE) FROM a GROUP BY k",
    "SELECT k, CAST(SUM(v) AS DOUBLE) / 2 FROM a GROUP BY k",
)
pair(
    "grouping_sets",
    "k INT, k2 INT, n BIGINT",
    "SELECT k, k2, SUM(v) FROM a GROUP BY GROUPING SETS ((k), (k2))",
    "SELECT k, k2, SUM(v) FROM a GROUP BY GROUPING SETS ((k, k2), (k))",
    KEYS,
)
pair("global_aggregate", "n BIGINT", "SELECT SUM(v) FROM a", "SELECT SUM(v2) FROM a", AGGREGATE)
pair(
    "retracting_input",
    KV,
    "SELECT m, SUM(k) FROM (SELECT k, MAX(k2) AS m FROM a GROUP BY k) GROUP BY m",
    "SELECT m, SUM(k) FROM (SELECT k, MIN(k2) AS m FROM a GROUP BY k) GROUP BY m",
    AGGREGATE,
)
pair(
    "two_levels_second_changed",
    KV,
    "SELECT m, MAX(s) FROM (SELECT k, MAX(k2) AS m, SUM(v) AS s FROM a GROUP BY k) GROUP BY m",
    "SELECT m, MIN(s) FROM (SELECT k, MAX(k2) AS m, SUM(v) AS s FROM a GROUP BY k) GROUP BY m",
    AGGREGATE,
)
pair(
    "having_below_an_aggregate",
    KV,
    "SELECT m, COUNT(*) FROM (SELECT k, MAX(k2) AS m, SUM(v) AS s FROM a GROUP BY k) WHERE s > 5 GROUP BY m",
    "SELECT m, COUNT(*) FROM (SELECT k, MAX(k2) AS m, SUM(v) AS s FROM a GROUP BY k) WHERE s > 6 GROUP BY m",
    ROWS,
)
pair(
    "mini_batch_aggregate",
    KV,
    "SELECT k, SUM(v) FROM a GROUP BY k",
    "SELECT k, SUM(v2) FROM a GROUP BY k",
    AGGREGATE,
    before=(*MINI_BATCH, A),
)
pair(
    "mini_batch_distinct_split",
    KV,
    "SELECT k, COUNT(DISTINCT v) FROM a GROUP BY k",
    "SELECT k, COUNT(DISTINCT v2) FROM a GROUP BY k",
    AGGREGATE,
    before=(*MINI_BATCH, "SET 'table.optimizer.distinct-agg.split.enabled' = 'true'", A),
)
pair(
    "mini_batch_same",
    KV,
    "SELECT k, SUM(v), COUNT(*) FROM a GROUP BY k",
    "SELECT g, SUM(w), COUNT(*) FROM (SELECT k AS g, v AS w FROM a) GROUP BY g",
    before=(*MINI_BATCH, A),
    columns_new=KVV,
)
PAIRS["mini_batch_same"] = Pair(
    "mini_batch_same", PAIRS["mini_batch_same"].old.replace(f"({KV})", f"({KVV})"), PAIRS["mini_batch_same"].new, "", ""
)

# WHERE, and what else decides about the rows of an aggregate
pair(
    "where_changed",
    KV,
    "SELECT k, SUM(v) FROM a WHERE v > 10 GROUP BY k",
    "SELECT k, SUM(v) FROM a WHERE v > 20 GROUP BY k",
    ROWS,
)
pair("where_added", KV, "SELECT k, SUM(v) FROM a GROUP BY k", "SELECT k, SUM(v) FROM a WHERE v > 20 GROUP BY k", ROWS)
pair(
    "where_written_otherwise",
    KV,
    "SELECT k, SUM(v) FROM a WHERE v > 10 AND k2 = 3 GROUP BY k",
    "SELECT k, SUM(v) FROM a WHERE 3 = k2 AND 10 < v GROUP BY k",
)
pair(
    "where_in_a_subquery",
    KV,
    "SELECT k, SUM(v) FROM a WHERE v > 10 AND k2 = 3 GROUP BY k",
    "SELECT k, SUM(v) FROM (SELECT * FROM a WHERE v > 10) WHERE k2 = 3 GROUP BY k",
)
pair(
    "where_in_list",
    KV,
    "SELECT k, SUM(v) FROM a WHERE name IN ('x', 'y') GROUP BY k",
    "SELECT k, SUM(v) FROM a WHERE name IN ('x', 'z') GROUP BY k",
    ROWS,
)
pair(
    "where_in_list_reordered",
    KV,
    "SELECT k, SUM(v) FROM a WHERE name IN ('x', 'y') GROUP BY k",
    "SELECT k, SUM(v) FROM a WHERE name IN ('y', 'x') GROUP BY k",
)
pair("where_stateless", "k INT, v BIGINT", "SELECT k, v FROM a WHERE v > 10", "SELECT k, v FROM a WHERE v > 20")
pair("projection_stateless", "k INT, v BIGINT", "SELECT k, v FROM a", "SELECT k, v2 FROM a")
pair(
    "union_all_other_branch",
    KV,
    "SELECT k, SUM(v) FROM (SELECT k, v FROM a UNION ALL SELECT k, v FROM b) GROUP BY k",
    "SELECT k, SUM(v) FROM (SELECT k, v FROM a UNION ALL SELECT k, v2 FROM b) GROUP BY k",
    AGGREGATE,
    before=(A, B),
)
pair(
    "union_all_branch_filtered",
    KV,
    "SELECT k, SUM(v) FROM (SELECT k, v FROM a WHERE v > 1 UNION ALL SELECT k, v FROM b) GROUP BY k",
    "SELECT k, SUM(v) FROM (SELECT k, v FROM a WHERE v > 2 UNION ALL SELECT k, v FROM b) GROUP BY k",
    ROWS,
    before=(A, B),
)
pair(
    "union_all_branches_exchanged",
    KV,
    "SELECT k, SUM(v) FROM (SELECT k, v FROM a UNION ALL SELECT k, v2 AS v FROM b) GROUP BY k",
    "SELECT k, SUM(v) FROM (SELECT k, v2 AS v FROM b UNION ALL SELECT k, v FROM a) GROUP BY k",
    "CMP708",
    before=(A, B),
)
pair(
    "in_subquery",
    KV,
    "SELECT k, SUM(v) FROM a WHERE k IN (SELECT k FROM b WHERE v > 1) GROUP BY k",
    "SELECT k, SUM(v) FROM a WHERE k IN (SELECT k FROM b WHERE v > 2) GROUP BY k",
    ROWS,
    before=(A, B),
)
pair(
    "time_of_day",
    KV,
    "SELECT k, SUM(v) FROM a WHERE ts > TIMESTAMP '2020-01-01 00:00:00' GROUP BY k",
    "SELECT k, SUM(v) FROM a WHERE ts > TIMESTAMP '2021-01-01 00:00:00' GROUP BY k",
    ROWS,
)

# keys
pair("group_key_other_column", KV, "SELECT k, SUM(v) FROM a GROUP BY k", "SELECT k2, SUM(v) FROM a GROUP BY k2", KEYS)
pair(
    "group_key_expression",
    KV,
    "SELECT k, SUM(v) FROM (SELECT k + 1 AS k, v FROM a) GROUP BY k",
    "SELECT k, SUM(v) FROM (SELECT k + 2 AS k, v FROM a) GROUP BY k",
    KEYS,
)
pair(
    "group_keys_exchanged",
    "k INT, k2 INT, n BIGINT",
    "SELECT x, y, SUM(v) FROM (SELECT k AS x, k2 AS y, v FROM a) GROUP BY x, y",
    "SELECT x, y, SUM(v) FROM (SELECT k2 AS x, k AS y, v FROM a) GROUP BY x, y",
    KEYS,
)
pair(
    "group_key_added",
    "k INT, k2 INT, n BIGINT",
    "SELECT k, 1, SUM(v) FROM a GROUP BY k",
    "SELECT k, k2, SUM(v) FROM a GROUP BY k, k2",
    "CMP406",
)

# computed columns
COMPUTED = (
    "CREATE TABLE a (id BIGINT, amount AS MOD(id * 37, 101), grp AS MOD(id, 7), cat AS CAST(MOD(id, 9) AS STRING)) "
    f"WITH ({SEQUENCE})"
)
pair(
    "computed_key",
    "k INT, n BIGINT",
    "SELECT grp, COUNT(*) FROM a GROUP BY grp",
    "SELECT amount, COUNT(*) FROM a GROUP BY amount",
    KEYS,
    before=(COMPUTED,),
)
pair(
    "computed_key_of_another_type",
    "k STRING, n BIGINT",
    "SELECT CAST(amount AS STRING), COUNT(*) FROM a GROUP BY amount",
    "SELECT cat, COUNT(*) FROM a GROUP BY cat",
    KEYS,
    before=(COMPUTED,),
)
pair(
    "computed_otherwise",
    "k INT, n BIGINT",
    "SELECT grp, SUM(amount) FROM a GROUP BY grp",
    "SELECT grp, SUM(amount) FROM a GROUP BY grp",
    "CMP701",
    before=(COMPUTED,),
    before_new=(COMPUTED.replace("* 37", "* 38"),),
)

pair(
    "functions_by_other_names",
    "k INT, n BIGINT, m STRING",
    "SELECT k, SUM(IFNULL(v, 0)), MAX(CONCAT(name, SUBSTR(name2, 2))) FROM a WHERE k2 IN (1, 2, 3) GROUP BY k",
    "SELECT k, SUM(COALESCE(v, 0)), MAX(name || SUBSTRING(name2, 2)) FROM a WHERE k2 BETWEEN 1 AND 3 GROUP BY k",
)
pair(
    "case_as_filter",
    "k INT, n BIGINT, m BIGINT",
    "SELECT k, SUM(CASE WHEN k2 > 1 THEN v END), COUNT(v) FILTER (WHERE k2 > 1) FROM a GROUP BY k",
    "SELECT k, SUM(v) FILTER (WHERE k2 > 1), COUNT(CASE WHEN 1 < k2 THEN v ELSE NULL END) FROM a GROUP BY k",
)
pair(
    "case_with_an_else",
    "k INT, n BIGINT",
    "SELECT k, SUM(CASE WHEN k2 > 1 THEN v ELSE 0 END) FROM a GROUP BY k",
    "SELECT k, SUM(v) FILTER (WHERE k2 > 1) FROM a GROUP BY k",
    AGGREGATE,
)
pair(
    "last_value_of_a_case",
    "k INT, n BIGINT",
    "SELECT k, LAST_VALUE(CASE WHEN k2 > 1 THEN v END) FROM a GROUP BY k",
    "SELECT k, LAST_VALUE(v) FILTER (WHERE k2 > 1) FROM a GROUP BY k",
    AGGREGATE,
)

# joins
TWO = "id BIGINT, w BIGINT"
pair(
    "join_same",
    TWO,
    "SELECT a.id, b.v FROM a JOIN b ON a.k = b.k",
    "SELECT x.id, y.v FROM a x JOIN b y ON y.k = x.k",
    before=(A, B),
)
pair(
    "join_other_key",
    TWO,
    "SELECT a.id, b.v FROM a JOIN b ON a.k = b.k",
    "SELECT a.id, b.v FROM a JOIN b ON a.k2 = b.k",
    KEYS,
    before=(A, B),
)
pair(
    "join_kind",
    TWO,
    "SELECT a.id, b.v FROM a JOIN b ON a.k = b.k",
    "SELECT a.id, b.v FROM a LEFT JOIN b ON a.k = b.k",
    "CMP404",
    before=(A, B),
)
pair(
    "join_carried_column",
    TWO,
    "SELECT a.id, b.v FROM a JOIN b ON a.k = b.k",
    "SELECT a.id, b.v2 FROM a JOIN b ON a.k = b.k",
    ROWS,
    before=(A, B),
)
pair(
    "join_where_one_side",
    TWO,
    "SELECT a.id, b.v FROM a JOIN b ON a.k = b.k WHERE b.v > 1",
    "SELECT a.id, b.v FROM a JOIN b ON a.k = b.k WHERE b.v > 2",
    ROWS,
    before=(A, B),
)
pair(
    "join_condition_inner",
    TWO,
    "SELECT a.id, b.v FROM a JOIN b ON a.k = b.k AND a.v > b.v",
    "SELECT a.id, b.v FROM a JOIN b ON a.k = b.k AND a.v < b.v",
    JOIN,
    "warning",
    before=(A, B),
)
pair(
    "join_condition_left",
    TWO,
    "SELECT a.id, b.v FROM a LEFT JOIN b ON a.k = b.k AND a.v > b.v",
    "SELECT a.id, b.v FROM a LEFT JOIN b ON a.k = b.k AND a.v < b.v",
    JOIN,
    before=(A, B),
)
pair(
    "join_sides_exchanged",
    "i BIGINT, j BIGINT",
    "SELECT a.id, b.id FROM a JOIN b ON a.k = b.k",
    "SELECT a.id, b.id FROM b JOIN a ON a.k = b.k",
    "CMP708",
    before=(A, B),
)
pair(
    "join_output_only",
    "i BIGINT, j BIGINT",
    "SELECT a.id, b.v FROM a JOIN b ON a.k = b.k",
    "SELECT a.id, b.v + 1 FROM a JOIN b ON a.k = b.k",
    before=(A, B),
)
pair(
    "semi_to_anti_join",
    "id BIGINT",
    "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
    "SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
    JOIN,
    "warning",
    before=(A, B),
)
pair(
    "left_to_anti_join",
    "id BIGINT",
    "SELECT a.id FROM a LEFT JOIN (SELECT DISTINCT k FROM b) b ON a.k = b.k",
    "SELECT a.id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
    "any",
    before=(A, B),
)
pair(
    "interval_join_wider",
    "i BIGINT, j BIGINT",
    "SELECT a.id, b.id FROM a JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts AND b.ts + INTERVAL '1' MINUTE",
    "SELECT a.id, b.id FROM a JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts AND b.ts + INTERVAL '5' MINUTE",
    JOIN,
    before=(A, B),
)
pair(
    "interval_join_narrower",
    "i BIGINT, j BIGINT",
    "SELECT a.id, b.id FROM a JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts AND b.ts + INTERVAL '5' MINUTE",
    "SELECT a.id, b.id FROM a JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts AND b.ts + INTERVAL '1' MINUTE",
    JOIN,
    "warning",
    before=(A, B),
)
pair(
    "interval_join_condition",
    "i BIGINT, j BIGINT",
    "SELECT a.id, b.id FROM a JOIN b ON a.k = b.k AND a.v > b.v AND a.ts BETWEEN b.ts AND b.ts + INTERVAL '5' MINUTE",
    "SELECT a.id, b.id FROM a JOIN b ON a.k = b.k AND a.v < b.v AND a.ts BETWEEN b.ts AND b.ts + INTERVAL '5' MINUTE",
    JOIN,
    "warning",
    before=(A, B),
)
IN_TIME = "SELECT a.id, b.id FROM a {} JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts AND b.ts + INTERVAL '1' MINUTE"
IJ = "i BIGINT, j BIGINT"
pair("interval_left_to_inner", IJ, IN_TIME.format("LEFT"), IN_TIME.format(""), JOIN, "warning", before=(A, B))
pair("interval_full_to_right", IJ, IN_TIME.format("FULL"), IN_TIME.format("RIGHT"), JOIN, "warning", before=(A, B))
pair("interval_inner_to_left", IJ, IN_TIME.format(""), IN_TIME.format("LEFT"), JOIN, before=(A, B))
pair("interval_left_to_right", IJ, IN_TIME.format("LEFT"), IN_TIME.format("RIGHT"), JOIN, before=(A, B))
pair(
    "interval_join_other_key",
    "i BIGINT, j BIGINT",
    "SELECT a.id, b.id FROM a JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts AND b.ts + INTERVAL '1' MINUTE",
    "SELECT a.id, b.id FROM a JOIN b ON a.k = b.k2 AND a.ts BETWEEN b.ts AND b.ts + INTERVAL '1' MINUTE",
    KEYS,
    before=(A, B),
)
pair(
    "temporal_join_other_column",
    TWO,
    "SELECT a.id, r.rate FROM a JOIN rates FOR SYSTEM_TIME AS OF a.ts AS r ON a.k = r.k",
    "SELECT a.id, r.rate2 FROM a JOIN rates FOR SYSTEM_TIME AS OF a.ts AS r ON a.k = r.k",
    ROWS,
    before=(A, VERSIONED),
)
pair(
    "temporal_join_other_key",
    TWO,
    "SELECT a.id, r.rate FROM a JOIN rates FOR SYSTEM_TIME AS OF a.ts AS r ON a.k = r.k",
    "SELECT a.id, r.rate FROM a JOIN rates FOR SYSTEM_TIME AS OF a.ts AS r ON a.k2 = r.k",
    KEYS,
    before=(A, VERSIONED),
)
pair(
    "temporal_join_left",
    TWO,
    "SELECT a.id, r.rate FROM a JOIN rates FOR SYSTEM_TIME AS OF a.ts AS r ON a.k = r.k",
    "SELECT a.id, r.rate FROM a LEFT JOIN rates FOR SYSTEM_TIME AS OF a.ts AS r ON a.k = r.k",
    JOIN,
    "warning",
    before=(A, VERSIONED),
)

# top-N and deduplication
TOP_N = (
    "SELECT {columns} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {by} ORDER BY {order}) AS rn FROM {table}) "
    "WHERE rn <= {n}"
)


def top(n=3, by="k", order="v DESC", columns="k, id, rn", table="a"):
    """A top-N."""
    return TOP_N.format(n=n, by=by, order=order, columns=columns, table=table)


RANKED = "k INT, id BIGINT, rn BIGINT"
pair("top_n_larger", RANKED, top(), top(n=5), TOP)
pair("top_n_smaller", RANKED, top(n=5), top(n=3), TOP, "warning")
pair("top_n_smaller_without_rank", "k INT, id BIGINT", top(n=5, columns="k, id"), top(n=3, columns="k, id"), TOP)
pair("top_n_order", RANKED, top(), top(order="v2 DESC"), TOP)
pair("top_n_direction", RANKED, top(), top(order="v ASC"), "any")
pair("top_n_partition", RANKED, top(), top(by="k2"), KEYS)
pair("top_n_column", RANKED, top(columns="k, id, rn"), top(columns="k, v2 AS id, rn"), ROWS)
pair("top_n_same", RANKED, top(), top(table="(SELECT * FROM a)"))
pair("top_n_where", RANKED, top(), top(table="(SELECT * FROM a WHERE v > 3)"), ROWS)
pair(
    "top_n_of_updates",
    "k INT, s BIGINT, rn BIGINT",
    "SELECT k, s, rn FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY s DESC) AS rn FROM (SELECT k, SUM(v) AS "
    "s FROM a GROUP BY k)) WHERE rn <= 3",
    "SELECT k, s, rn FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY s DESC) AS rn FROM (SELECT k, SUM(v) AS "
    "s FROM a GROUP BY k)) WHERE rn <= 5",
    TOP,
    "warning",
)
pair(
    "limit_larger",
    "id BIGINT, v BIGINT",
    "SELECT id, v FROM a ORDER BY v LIMIT 3",
    "SELECT id, v FROM a ORDER BY v LIMIT 5",
    TOP,
)
pair("limit_alone", "id BIGINT, v BIGINT", "SELECT id, v FROM a LIMIT 3", "SELECT id, v FROM a LIMIT 5", TOP)
pair(
    "dedup_keep",
    "k INT, id BIGINT",
    top(1, order="ts ASC", columns="k, id"),
    top(1, order="ts DESC", columns="k, id"),
    TOP,
)
pair(
    "dedup_keep_processing_time",
    "k INT, id BIGINT",
    top(1, order="pt ASC", columns="k, id"),
    top(1, order="pt DESC", columns="k, id"),
    "any",
)
pair(
    "dedup_key",
    "k INT, id BIGINT",
    top(1, order="ts ASC", columns="k, id"),
    top(1, by="k2", order="ts ASC", columns="k2, id"),
    KEYS,
)
pair(
    "dedup_column",
    "k INT, id BIGINT",
    top(1, order="ts ASC", columns="k, id"),
    top(1, order="ts ASC", columns="k, v"),
    ROWS,
)
pair(
    "dedup_same",
    "k INT, id BIGINT",
    top(1, order="ts ASC", columns="k, id"),
    top(1, order="ts ASC", columns="k, id + 1"),
)
pair(
    "dedup_where",
    "k INT, id BIGINT",
    top(1, order="ts ASC", columns="k, id"),
    top(1, order="ts ASC", columns="k, id", table="(SELECT * FROM a WHERE v > 2)"),
    ROWS,
)

# of first rows by arrival a mark is kept, or a number
FIRST = {"order": "pt ASC", "by": "k, k2"}
pair(
    "dedup_arrival_column",
    "k INT, id BIGINT",
    top(1, columns="k, id", **FIRST),
    top(1, columns="k, id + v", **FIRST),
)
pair("dedup_arrival_key", "k INT, id BIGINT", top(1, columns="k, id", **FIRST), top(1, "k", "pt ASC", "k, id"), KEYS)
pair(
    "dedup_last_arrival_column",
    "k INT, id BIGINT",
    top(1, columns="k, id", order="pt DESC"),
    top(1, columns="k, v", order="pt DESC"),
    ROWS,
)
pair(
    "first_by_arrival_column",
    "k INT, id BIGINT",
    top(9, columns="k, id", **FIRST),
    top(9, columns="k, id + v", **FIRST),
)
pair(
    "first_by_arrival_fewer",
    "k INT, id BIGINT",
    top(9, columns="k, id", **FIRST),
    top(5, columns="k, id", **FIRST),
    TOP,
    "warning",
)
pair(
    "first_by_arrival_more", "k INT, id BIGINT", top(5, columns="k, id", **FIRST), top(9, columns="k, id", **FIRST), TOP
)

# changes that the planner makes whole, with the filter in the operator that does so
CHANGES = (
    "SET 'table.exec.source.cdc-events-duplicate' = 'true'",
    "CREATE TABLE c (k INT, v BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector'='filesystem','path'='/nowhere',"
    "'format'='debezium-json')",
)
MADE_WHOLE = "SELECT k, v FROM c WHERE {}"
pair("normalized_filter", KV, MADE_WHOLE.format("v > 10"), MADE_WHOLE.format("v > 5"), ROWS, before=CHANGES)
pair("normalized_filter_gone", KV, MADE_WHOLE.format("v > 10"), MADE_WHOLE.format("TRUE"), ROWS, before=CHANGES)
pair("normalized_filter_same", KV, MADE_WHOLE.format("v > 10"), MADE_WHOLE.format("10 < v"), before=CHANGES)

# windows
TVF = "SELECT k, {agg} FROM TABLE({window}) GROUP BY window_start, window_end, {by}"


def window(kind="TUMBLE", sizes=("2' MINUTE",), agg="COUNT(*)", by="k", table="a", time="ts"):
    """A window aggregate."""
    intervals = ", ".join(f"INTERVAL '{size}" for size in sizes)
    return TVF.format(window=f"{kind}(TABLE {table}, DESCRIPTOR({time}), {intervals})", agg=agg, by=by)


pair("window_size", KV, window(), window(sizes=("4' MINUTE",)), WINDOW)
pair("window_kind", KV, window(), window("HOP", ("1' MINUTE", "2' MINUTE")), WINDOW)
pair("window_slide", KV, window("HOP", ("1' MINUTE", "4' MINUTE")), window("HOP", ("2' MINUTE", "4' MINUTE")), WINDOW)
pair(
    "window_cumulate",
    KV,
    window("CUMULATE", ("1' MINUTE", "4' MINUTE")),
    window("CUMULATE", ("1' MINUTE", "8' MINUTE")),
    WINDOW,
)
pair("window_offset", KV, window(sizes=("10' MINUTE",)), window(sizes=("10' MINUTE", "1' MINUTE")), WINDOW)
pair("window_aggregate", KV, window(agg="SUM(v)"), window(agg="SUM(v2)"), AGGREGATE)
pair("window_key", KV, window(), window(by="k2").replace("SELECT k,", "SELECT k2,"), KEYS)
pair("window_same", KV, window(), window().replace("COUNT(*)", "COUNT(*) AS other"))
pair(
    "window_written_otherwise",
    KV,
    window(),
    window(sizes=("120' SECOND",)).replace("'120' SECOND", "'02:00' MINUTE TO SECOND"),
)
pair(
    "window_where_added",
    KV,
    window(),
    window(table="w1"),
    "CMP102",
    before=(A, "CREATE VIEW w1 AS SELECT * FROM a WHERE v > 1"),
)
pair(
    "window_where",
    KV,
    window(table="w1"),
    window(table="w1"),
    ROWS,
    before=(A, "CREATE VIEW w1 AS SELECT * FROM a WHERE v > 1"),
    before_new=(A, "CREATE VIEW w1 AS SELECT * FROM a WHERE v > 2"),
)
pair("window_session", KV, window("SESSION", ("1' MINUTE",)), window("SESSION", ("2' MINUTE",)), WINDOW, "warning")
pair("window_processing_time", KV, window(time="pt"), window(time="pt", sizes=("3' MINUTE",)), WINDOW)
pair("window_time", KV, window(), window(time="pt"), "CMP706")
TIMED = A.replace("ts TIMESTAMP(3)", "ts AS TO_TIMESTAMP_LTZ(id * 100, 3)")
pair(
    "window_time_computed",
    KV,
    window(),
    window(),
    "CMP706",
    before=(TIMED,),
    before_new=(TIMED.replace("id * 100", "id * 100 + 2000"),),
)
GROUP_WINDOW = "SELECT k, COUNT(*) FROM a GROUP BY k, {}"
pair(
    "group_window_size",
    KV,
    GROUP_WINDOW.format("TUMBLE(ts, INTERVAL '1' MINUTE)"),
    GROUP_WINDOW.format("TUMBLE(ts, INTERVAL '2' MINUTE)"),
    WINDOW,
)
pair(
    "group_window_aggregate",
    KV,
    "SELECT k, SUM(v) FROM a GROUP BY k, TUMBLE(ts, INTERVAL '1' MINUTE)",
    "SELECT k, SUM(v2) FROM a GROUP BY k, TUMBLE(ts, INTERVAL '1' MINUTE)",
    AGGREGATE,
)
pair(
    "group_window_session",
    KV,
    GROUP_WINDOW.format("SESSION(ts, INTERVAL '1' MINUTE)"),
    GROUP_WINDOW.format("SESSION(ts, INTERVAL '2' MINUTE)"),
    WINDOW,
    "warning",
)
pair(
    "group_window_kind",
    KV,
    GROUP_WINDOW.format("TUMBLE(ts, INTERVAL '1' MINUTE)"),
    GROUP_WINDOW.format("HOP(ts, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)"),
    WINDOW,
)
WINDOW_TOP = (
    "SELECT k, id, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, k ORDER BY "
    "{order}) AS rn FROM TABLE(TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '{size}' MINUTE))) WHERE rn <= {n}"
)
pair("window_top_n", RANKED, WINDOW_TOP.format(order="v", size=1, n=3), WINDOW_TOP.format(order="v2", size=1, n=3), TOP)
pair(
    "window_top_n_larger",
    RANKED,
    WINDOW_TOP.format(order="v", size=1, n=3),
    WINDOW_TOP.format(order="v", size=1, n=5),
    TOP,
)
pair(
    "window_top_n_size",
    RANKED,
    WINDOW_TOP.format(order="v", size=1, n=3),
    WINDOW_TOP.format(order="v", size=2, n=3),
    WINDOW,
)
pair(
    "window_dedup",
    RANKED,
    WINDOW_TOP.format(order="ts ASC", size=1, n=1),
    WINDOW_TOP.format(order="ts DESC", size=1, n=1),
    TOP,
)
WINDOWED = "(SELECT * FROM TABLE(TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '{}' MINUTE)))"
WINDOW_JOIN = (
    "SELECT l.id, r.id FROM "
    + WINDOWED.format("a", "{size}")
    + " l JOIN "
    + WINDOWED.format("b", "{size}")
    + " r ON l.{key} = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end"
)
pair(
    "window_join_size",
    "i BIGINT, j BIGINT",
    WINDOW_JOIN.format(size=1, key="k"),
    WINDOW_JOIN.format(size=2, key="k"),
    WINDOW,
    before=(A, B),
)
pair(
    "window_join_key",
    "i BIGINT, j BIGINT",
    WINDOW_JOIN.format(size=1, key="k"),
    WINDOW_JOIN.format(size=1, key="k2"),
    KEYS,
    before=(A, B),
)

# OVER, MATCH_RECOGNIZE
OVER = "SELECT k, SUM({v}) OVER (PARTITION BY {by} ORDER BY {order} {bounds}) FROM a"


def over(v="v", by="k", order="ts", bounds="RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW"):
    """An OVER aggregate."""
    return OVER.format(v=v, by=by, order=order, bounds=bounds)


pair("over_same", KV, over(), over())
pair("over_column", KV, over(), over(v="v2"), "any")
pair("over_unbounded_column", KV, over(bounds=""), over(v="v2", bounds=""), "any")
pair("over_unbounded_function", KV, over(bounds=""), over(bounds="").replace("SUM", "MAX"), AGGREGATE)
pair("over_key", KV, over(), over(by="k2"), "any")
pair("over_wider", KV, over(), over(bounds="RANGE BETWEEN INTERVAL '2' HOUR PRECEDING AND CURRENT ROW"), WINDOW)
pair(
    "over_rows",
    KV,
    over(bounds="ROWS BETWEEN 3 PRECEDING AND CURRENT ROW"),
    over(bounds="ROWS BETWEEN 5 PRECEDING AND CURRENT ROW"),
    WINDOW,
)
pair(
    "lag",
    KV,
    "SELECT k, LAG(v) OVER (PARTITION BY k ORDER BY ts) FROM a",
    "SELECT k, LAG(v, 2) OVER (PARTITION BY k ORDER BY ts) FROM a",
    AGGREGATE,
)
pair(
    "lag_column",
    KV,
    "SELECT k, LAG(v) OVER (PARTITION BY k ORDER BY ts) FROM a",
    "SELECT k, LAG(v2) OVER (PARTITION BY k ORDER BY ts) FROM a",
    "any",
)
MATCH = (
    "SELECT k, s FROM a MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES LAST(X.v) AS s ONE ROW PER MATCH "
    "AFTER MATCH SKIP PAST LAST ROW PATTERN ({pattern}) DEFINE X AS X.v > {low}, Y AS Y.v < 3) AS m"
)
pair("match_same", KV, MATCH.format(pattern="X Y", low=5), MATCH.format(pattern="X Y", low=5))
pair("match_condition", KV, MATCH.format(pattern="X Y", low=5), MATCH.format(pattern="X Y", low=6), OTHER)
pair("match_pattern", KV, MATCH.format(pattern="X Y", low=5), MATCH.format(pattern="X+ Y", low=5), OTHER)

# sinks that keep rows, functions of tables, sorting, set operations
FORCED = "SET 'table.exec.sink.upsert-materialize' = 'FORCE'"
KEYED = "k INT, n BIGINT, PRIMARY KEY (k) NOT ENFORCED"
TWO_SUMS = "SELECT k, {} FROM (SELECT k, SUM(v) AS s, MAX(v2) AS m FROM a GROUP BY k){}"
pair("sink_same", KEYED, TWO_SUMS.format("s", ""), TWO_SUMS.format("s", ""), before=(FORCED, A))
pair("sink_column", KEYED, TWO_SUMS.format("s + m", ""), TWO_SUMS.format("s - m", ""), ROWS, before=(FORCED, A))
pair(
    "sink_condition",
    KEYED,
    TWO_SUMS.format("s + m", " WHERE s > 5"),
    TWO_SUMS.format("s + m", " WHERE s > 6"),
    ROWS,
    before=(FORCED, A),
)
UNNEST = "SELECT k, SUM(x) FROM a CROSS JOIN UNNEST(ARRAY[{}]) AS t(x) GROUP BY k"
pair("unnest_same", KV, UNNEST.format("v, v2"), UNNEST.format("v, v2"))
pair("unnest_changed", KV, UNNEST.format("v, v2"), UNNEST.format("v, v"), AGGREGATE)
SORTED = "SELECT k, {} FROM a ORDER BY ts"
pair("sorted_same", KV, SORTED.format("v"), SORTED.format("v"))
pair("sorted_column", KV, SORTED.format("v"), SORTED.format("v2"), ROWS)
pair("sorted_further", KV, SORTED.format("v"), f"{SORTED.format('v')}, v", TOP, "warning", columns_new=KV)
pair("sorted_otherwise", KV, f"{SORTED.format('v')}, v", f"{SORTED.format('v')}, v DESC", TOP, "warning")
pair(
    "union_distinct",
    "k INT",
    "SELECT k FROM a UNION SELECT k FROM b",
    "SELECT k FROM a UNION SELECT k2 FROM b",
    KEYS,
    before=(A, B),
)
pair(
    "above_the_average",
    KV,
    "SELECT k, SUM(v) FROM a WHERE v > (SELECT AVG(v) FROM b) GROUP BY k",
    "SELECT k, SUM(v) FROM a WHERE v < (SELECT AVG(v) FROM b) GROUP BY k",
    JOIN,
    before=(A, B),
)
pair(
    "aggregate_of_a_join",
    "w BIGINT, n BIGINT",
    "SELECT b.v, COUNT(*) FROM a JOIN b ON a.k = b.k GROUP BY b.v",
    "SELECT b.v, COUNT(a.v) FROM a JOIN b ON a.k = b.k GROUP BY b.v",
    "any",
    before=(A, B),
)
pair(
    "several_changes",
    KV,
    "SELECT k, SUM(v) FROM a WHERE v > 1 GROUP BY k",
    "SELECT k, MAX(v) FROM a WHERE v > 2 GROUP BY k",
    ROWS,
)

# sources and statements
pair(
    "source_table_replaced",
    KV,
    "SELECT k, SUM(v) FROM a GROUP BY k",
    "SELECT k, SUM(v) FROM b GROUP BY k",
    "CMP708",
    before=(A, B.replace("'1000'", "'2000'")),
)
pair(
    "source_table_renamed",
    KV,
    "SELECT k, SUM(v) FROM a GROUP BY k",
    "SELECT k, SUM(v) FROM b GROUP BY k",
    before=(A, B),
)
pair(
    "table_like",
    KV,
    "SELECT k, SUM(v) FROM a GROUP BY k",
    "SELECT k, SUM(v) FROM c GROUP BY k",
    before=(A, "CREATE TABLE c LIKE a"),
)
pair(
    "source_options",
    KV,
    "SELECT k, SUM(v) FROM a GROUP BY k",
    "SELECT k, SUM(v) FROM a GROUP BY k",
    before=(A,),
    before_new=(A.replace("'10')", "'20')"),),
)
pair(
    "watermark_changed",
    KV,
    window(),
    window(),
    WINDOW,
    "warning",
    before=(A,),
    before_new=(A.replace("'1' SECOND", "'9' SECOND"),),
)
pair(
    "computed_column_changed",
    KV,
    "SELECT k, SUM(w) FROM c GROUP BY k",
    "SELECT k, SUM(w) FROM c GROUP BY k",
    AGGREGATE,
    before=("CREATE TABLE c (id BIGINT, k INT, v BIGINT, w AS v * 2) WITH (" + SEQUENCE + ")",),
    before_new=("CREATE TABLE c (id BIGINT, k INT, v BIGINT, w AS v * 3) WITH (" + SEQUENCE + ")",),
)
O1, O2 = (out(KV, f"'connector'='print','print-identifier'='{name}'", name) for name in ("o1", "o2"))
FIRST, SECOND = (
    "INSERT INTO o1 SELECT k, SUM(v) FROM a GROUP BY k",
    "INSERT INTO o2 SELECT k, SUM(v2) FROM a GROUP BY k",
)


def statement_set(*inserts):
    """A statement set."""
    return "EXECUTE STATEMENT SET\nBEGIN\n" + "".join(f"{one};\n" for one in inserts) + "END"


jobs(
    "statements_exchanged",
    (A, O1, O2, statement_set(FIRST, SECOND)),
    (A, O1, O2, statement_set(SECOND, FIRST)),
    "CMP709",
)
jobs("statements_same", (A, O1, O2, statement_set(FIRST, SECOND)), (A, O2, O1, statement_set(FIRST, SECOND)))
jobs(
    "statement_of_a_set_changed",
    (A, O1, O2, statement_set(FIRST, SECOND)),
    (A, O1, O2, statement_set(FIRST, SECOND.replace("SUM", "MAX"))),
    AGGREGATE,
)
P1, P2 = (out(KVV, name=name) for name in ("p1", "p2"))
BOTH = "INSERT INTO {} SELECT {}, {}, {} FROM a GROUP BY {}"
jobs(
    "statements_exchanged_and_changed",
    (
        A,
        P1,
        P2,
        statement_set(
            BOTH.format("p1", "k", "SUM(v)", "COUNT(*)", "k"), BOTH.format("p2", "k2", "MAX(v)", "COUNT(*)", "k2")
        ),
    ),
    (
        A,
        P1,
        P2,
        statement_set(
            BOTH.format("p2", "k2", "MAX(v)", "COUNT(*)", "k2"), BOTH.format("p1", "k", "COUNT(*)", "SUM(v)", "k")
        ),
    ),
    "CMP709",
)
jobs(
    "statements_both_changed",
    (
        A,
        P1,
        P2,
        statement_set(
            BOTH.format("p1", "k", "SUM(v)", "COUNT(*)", "k"), BOTH.format("p2", "k", "MAX(v)", "MIN(v)", "k")
        ),
    ),
    (
        A,
        P1,
        P2,
        statement_set(
            BOTH.format("p1", "k", "COUNT(*)", "SUM(v)", "k"), BOTH.format("p2", "k", "MIN(v)", "MAX(v)", "k")
        ),
    ),
    AGGREGATE,
)
jobs(
    "sinks_exchanged",
    (A, O1, O2, statement_set(FIRST, SECOND)),
    (A, O1, O2, statement_set(FIRST.replace("o1", "o2"), SECOND.replace("o2", "o1"))),
)

# settings
TTL = "SET 'table.exec.state.ttl' = '{}'"
SUMS = "SELECT k, SUM(v) FROM a GROUP BY k"
pair("ttl_on", KV, SUMS, SUMS, before=(A,), before_new=(TTL.format("1 h"), A))
pair("ttl_longer", KV, SUMS, SUMS, before=(TTL.format("1 h"), A), before_new=(TTL.format("2 h"), A))
pair(
    "ttl_shorter", KV, SUMS, SUMS, "CMP710", "warning", before=(TTL.format("2 h"), A), before_new=(TTL.format("1 h"), A)
)
pair(
    "ttl_hint",
    TWO,
    "SELECT /*+ STATE_TTL('a'='2h', 'b'='2h') */ a.id, b.v FROM a JOIN b ON a.k = b.k",
    "SELECT /*+ STATE_TTL('a'='1h', 'b'='2h') */ a.id, b.v FROM a JOIN b ON a.k = b.k",
    "CMP710",
    "warning",
    before=(A, B),
)
ALWAYS = "SET 'table.exec.uid.generation' = 'ALWAYS'"
pair("uid_always", KV, SUMS, SUMS, "CMP711", "warning", before=(ALWAYS, A))
pair("uid_always_switched_on", KV, SUMS, SUMS, "CMP102", before=(A,), before_new=(ALWAYS, A))
pair("uid_always_changed", KV, SUMS, SUMS.replace("SUM", "MAX"), AGGREGATE, before=(ALWAYS, A))
pair(
    "long_names",
    KV,
    SUMS,
    SUMS.replace("SUM", "MAX"),
    AGGREGATE,
    before=("SET 'table.exec.simplify-operator-name-enabled' = 'false'", A),
)
jobs(
    "recompiled",
    (A, out(KV), f"COMPILE PLAN 'one.json' FOR INSERT INTO o {SUMS}", "EXECUTE PLAN 'one.json'"),
    (A, out(KV), f"COMPILE PLAN 'two.json' FOR INSERT INTO o {SUMS}", "EXECUTE PLAN 'two.json'"),
)
jobs(
    "recompiled_and_changed",
    (A, out(KV), f"COMPILE PLAN 'one.json' FOR INSERT INTO o {SUMS}", "EXECUTE PLAN 'one.json'"),
    (A, out(KV), f"COMPILE PLAN 'two.json' FOR INSERT INTO o {SUMS.replace('SUM', 'MAX')}", "EXECUTE PLAN 'two.json'"),
    AGGREGATE,
)
jobs("several_jobs", (A, O1, O2, FIRST, SECOND), (A, O1, O2, FIRST, SECOND.replace("SUM", "MAX")), AGGREGATE)


def compiled(*inserts):
    """A statement set that is compiled to a file, and run from it."""
    inner = statement_set(*inserts).removeprefix("EXECUTE ")
    return (A, O1, O2, f"COMPILE PLAN 'set.json' FOR {inner}", "EXECUTE PLAN 'set.json'")


jobs("compiled_set_same", compiled(FIRST, SECOND), compiled(FIRST, SECOND))
jobs("compiled_set_exchanged", compiled(FIRST, SECOND), compiled(SECOND, FIRST), "CMP709")
jobs("compiled_set_changed", compiled(FIRST, SECOND), compiled(FIRST, SECOND.replace("SUM", "MIN")), AGGREGATE)


# what comes out of a state is kept by another one
HOURS = "RANGE BETWEEN INTERVAL '{}' HOUR PRECEDING AND CURRENT ROW"
pair("over_narrower", KV, over(bounds=HOURS.format(2)), over(bounds=HOURS.format(1)), WINDOW, "warning")
pair(
    "over_rows_narrower",
    KV,
    over(bounds="ROWS BETWEEN 5 PRECEDING AND CURRENT ROW"),
    over(bounds="ROWS BETWEEN 3 PRECEDING AND CURRENT ROW"),
    WINDOW,
)
PER_WINDOW = window(agg="window_start, window_end, COUNT(*) AS n")
BY_TIME = "SELECT {0}, SUM(n) FROM (" + PER_WINDOW + ") GROUP BY {0}"
TIMED = "w TIMESTAMP(3), n BIGINT"
pair("by_start_of_window", TIMED, BY_TIME.format("window_start"), BY_TIME.format("window_start"))
pair("by_other_end_of_window", TIMED, BY_TIME.format("window_start"), BY_TIME.format("window_end"), KEYS)
OF_TOP_N = "SELECT k, SUM(v) FROM ({}) GROUP BY k"
pair(
    "aggregate_of_a_smaller_top_n",
    KV,
    OF_TOP_N.format(top(n=5, columns="k, v, rn")),
    OF_TOP_N.format(top(n=3, columns="k, v, rn")),
    TOP,
)

# queries that are jobs of their own
jobs("query_same", (A, "SELECT k, SUM(v) FROM a GROUP BY k"), (A, "SELECT k, SUM(v) FROM a GROUP BY k"))
jobs(
    "query_changed",
    (A, "SELECT k, SUM(v) FROM a GROUP BY k"),
    (A, "SELECT k, MAX(v) FROM a GROUP BY k"),
    AGGREGATE,
)
jobs("query_beside_an_insert", (A, O1, "SELECT COUNT(*) FROM a", FIRST), (A, O1, FIRST, "SELECT 1"))


# what another plan restores rightly, and its near misses
UNBOUNDED = "{} BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
ROWS_SO_FAR, RANGE_SO_FAR = UNBOUNDED.format("ROWS"), UNBOUNDED.format("RANGE")
pair("over_all_rows", KV, over(bounds=ROWS_SO_FAR), over(bounds=RANGE_SO_FAR), WINDOW, "warning")
pair(
    "over_all_rows_processing_time",
    KV,
    over(order="pt", bounds=ROWS_SO_FAR),
    over(order="pt", bounds=RANGE_SO_FAR),
    WINDOW,
    "warning",
)
pair("over_all_rows_by_value", KV, over(order="v2", bounds=ROWS_SO_FAR), over(order="v2", bounds=RANGE_SO_FAR), WINDOW)
pair("over_some_rows", KV, over(bounds="ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"), over(bounds=RANGE_SO_FAR), WINDOW)
pair(
    "over_arrival_column",
    "k INT, id BIGINT, s BIGINT",
    "SELECT k, id, SUM(v) OVER (PARTITION BY k ORDER BY pt) FROM a",
    "SELECT k, id + v2, SUM(v) OVER (PARTITION BY k ORDER BY pt) FROM a",
)
pair(
    "over_all_rows_kept",
    KV,
    f"SELECT k, SUM(s) FROM ({over(bounds=ROWS_SO_FAR)}) AS t (k, s) GROUP BY k",
    f"SELECT k, SUM(s) FROM ({over(bounds=RANGE_SO_FAR)}) AS t (k, s) GROUP BY k",
    WINDOW,
)
SLIDE, HOURS_4, HOURS_2 = "1' HOUR", "4' HOUR", "2' HOUR"
pair("hop_smaller", KV, window("HOP", (SLIDE, HOURS_4)), window("HOP", (SLIDE, HOURS_2)), WINDOW, "warning")
pair("hop_larger", KV, window("HOP", (SLIDE, HOURS_2)), window("HOP", (SLIDE, HOURS_4)), WINDOW)
pair("hop_smaller_slide", KV, window("HOP", (HOURS_2, HOURS_4)), window("HOP", (SLIDE, HOURS_2)), WINDOW)
HOP_TOP = WINDOW_TOP.replace("TUMBLE", "HOP").replace("INTERVAL '{size}'", "INTERVAL '1' MINUTE, INTERVAL '{size}'")
pair(
    "hop_smaller_top_n",
    RANKED,
    HOP_TOP.format(order="v", size=4, n=3),
    HOP_TOP.format(order="v", size=2, n=3),
    WINDOW,
)
LARGE = "SELECT k, SUM(v) FROM a WHERE {} GROUP BY k"
pair("larger_than", KV, LARGE.format("v > 20"), LARGE.format("v >= 21"))
pair("smaller_than", KV, LARGE.format("v <= 20"), LARGE.format("21 > v"))
pair("larger_than_by_one", KV, LARGE.format("v > 20"), LARGE.format("v >= 20"), ROWS)
pair("larger_than_of_fractions", KV, LARGE.format("v / 2.0 > 20"), LARGE.format("v / 2.0 >= 21"), ROWS)
pair("between", KV, LARGE.format("v BETWEEN 21 AND 30"), LARGE.format("v > 20 AND v < 31"))
pair("between_by_one", KV, LARGE.format("v BETWEEN 21 AND 30"), LARGE.format("v > 20 AND v < 30"), ROWS)
CHOICE = "SELECT k, SUM({}) FROM a GROUP BY k"
pair("case_if", KV, CHOICE.format("CASE WHEN k2 > 1 THEN v ELSE 0 END"), CHOICE.format("IF(k2 > 1, v, 0)"))
pair(
    "case_if_turned",
    KV,
    CHOICE.format("CASE WHEN k2 > 1 THEN v ELSE 0 END"),
    CHOICE.format("IF(k2 > 1, 0, v)"),
    AGGREGATE,
)
jobs(
    "set_of_the_client",
    (A, O1, O2, statement_set(FIRST, SECOND)),
    (A, O1, O2, statement_set(FIRST, SECOND).replace("EXECUTE STATEMENT SET\nBEGIN", "BEGIN STATEMENT SET;")),
)

# several inputs at once
C = B.replace("TABLE b", "TABLE c")
MULTI_JOIN = "SET 'table.optimizer.multi-join.enabled' = 'true'"
THREE = "SELECT a.id, b.v, c.v2 FROM a JOIN b ON a.k = b.k JOIN c ON b.k = c.k"
JOINED = "i BIGINT, j BIGINT, l BIGINT"


def multi_join(name, new, rule="", level=""):
    """A pair of joins of three tables in one operator."""
    pair(f"multi_join_{name}", JOINED, THREE, new, rule, level, before=(MULTI_JOIN, A, B, C))


multi_join("same", THREE.replace("a.id", "a.id + 1"))
multi_join("where", f"{THREE} WHERE a.v > 20", ROWS)
multi_join("column", THREE.replace("b.v", "b.v2"), ROWS)
multi_join("key", THREE.replace("b.k = c.k", "b.k = c.k2"), KEYS)
multi_join("kind", THREE.replace("JOIN c", "LEFT JOIN c"), JOIN, "warning")
multi_join("condition", f"{THREE} AND b.v > c.v2", JOIN, "warning")
multi_join("condition_on_other_columns", f"{THREE} AND b.v > c.v", ROWS)

# sessions whose rows are kept until they end
SESSION = "SELECT id, {columns} FROM TABLE(SESSION(TABLE {table} PARTITION BY {by}, DESCRIPTOR(ts), INTERVAL '{size}' MINUTE))"


def session(columns="v", table="a", by="k", size=1):
    """The rows of sessions."""
    return SESSION.format(columns=columns, table=table, by=by, size=size)


VIEWS = (
    A,
    "CREATE VIEW w1 AS SELECT id, k, v, v2, ts FROM a",
    "CREATE VIEW w2 AS SELECT id, k, v2 AS v, v AS v2, ts FROM a",
)
STARTED = {"columns": "k, k2, window_start"}
TIMED_ROWS = "i BIGINT, k INT, k2 INT, w TIMESTAMP(3)"
pair("session_same", "i BIGINT, j BIGINT", session(), session(columns="v + 1"))
pair("session_gap", "i BIGINT, j BIGINT", session(), session(size=2), WINDOW, "warning")
pair("session_key", TIMED_ROWS, session(**STARTED), session(**STARTED, by="k2"), KEYS)
pair(
    "session_key_of_rows_alone",
    "i BIGINT, k INT, k2 INT",
    session(columns="k, k2"),
    session(columns="k, k2", by="k2"),
    KEYS,
    "warning",
)
pair("session_rows", "i BIGINT, j BIGINT", session(table="w1"), session(table="w2"), ROWS, before=VIEWS)
pair(
    "session_rows_kept_further",
    KVV,
    f"SELECT k, COUNT(k2), COUNT(id) FROM ({session(columns='k, k2')}) GROUP BY k",
    f"SELECT k, COUNT(k2), COUNT(id) FROM ({session(columns='k, k2', by='k2')}) GROUP BY k",
    KEYS,
    "warning",
)

# the rows that a sink was given, by its key
TWO_KEYS = "k INT NOT NULL, k2 INT NOT NULL, n BIGINT, PRIMARY KEY ({}) NOT ENFORCED"
GIVEN = "SELECT COALESCE(k, 0), COALESCE(m, 0), s FROM (SELECT k, SUM(v) AS s, MAX(k2) AS m FROM a GROUP BY k)"
pair("sink_key", TWO_KEYS.format("k"), GIVEN, GIVEN, KEYS, before=(FORCED, A), columns_new=TWO_KEYS.format("k2"))
pair("sink_key_same", TWO_KEYS.format("k2"), GIVEN, GIVEN, before=(FORCED, A))

# options that change what expressions mean
INSTANTS = (
    "CREATE TABLE l (id BIGINT, k INT, v BIGINT, flag BOOLEAN, name STRING, ts TIMESTAMP_LTZ(3), "
    f"WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH ({SEQUENCE})"
)
ZONE = "SET 'table.local-time-zone' = '{}'"
CASTS = "SET 'table.exec.legacy-cast-behaviour' = '{}'"


IN_UTC, IN_INDIA = ZONE.format("UTC"), ZONE.format("Asia/Kolkata")


def under(name, columns, query, rule="", level="", old=IN_UTC, new=IN_INDIA):
    """A query under two values of an option."""
    before, before_new = ((INSTANTS,) if option is None else (option, INSTANTS) for option in (old, new))
    pair(name, columns, query, query, rule, level, before=before, before_new=before_new)


HOUR_OF = "SELECT DATE_FORMAT(ts, 'HH'), COUNT(*) FROM l GROUP BY DATE_FORMAT(ts, 'HH')"
LATEST = "SELECT k, MAX(CAST(ts AS TIMESTAMP(3))) FROM l GROUP BY k"
under("zone_key", "h STRING, n BIGINT", HOUR_OF, KEYS)
under("zone_value", "k INT, t TIMESTAMP(3)", LATEST, AGGREGATE)
under("zone_where", KV, "SELECT k, SUM(v) FROM l WHERE EXTRACT(HOUR FROM ts) > 5 GROUP BY k", ROWS)
under("zone_window", KV, window(table="l"), WINDOW)
under("zone_untouched", "k INT, n BIGINT, t TIMESTAMP_LTZ(3)", "SELECT k, SUM(v), MAX(ts) FROM l GROUP BY k")
under(
    "zone_behind",
    "k INT, h STRING",
    "SELECT k, DATE_FORMAT(m, 'HH') FROM (SELECT k, MAX(ts) AS m FROM l GROUP BY k)",
    "CMP712",
    "warning",
)
under("zone_of_the_cluster", "h STRING, n BIGINT", HOUR_OF, "CMP712", "unknown", new=None)
under("zone_untouched_of_the_cluster", KV, "SELECT k, SUM(v) FROM l GROUP BY k", new=None)
OLD_CASTS = {"old": CASTS.format("ENABLED"), "new": None}
FLAGS = "SELECT CAST(flag AS STRING), COUNT(*) FROM l GROUP BY CAST(flag AS STRING)"
under("casts_key", "s STRING, n BIGINT", FLAGS, KEYS, **OLD_CASTS)
under("casts_as_by_default", "s STRING, n BIGINT", FLAGS, old=CASTS.format("disabled"), new=None)
under(
    "casts_of_numbers",
    "s STRING, d DOUBLE",
    "SELECT CAST(k AS STRING), SUM(CAST(v AS DOUBLE)) FROM l GROUP BY CAST(k AS STRING)",
    **OLD_CASTS,
)
under("casts_of_texts", KV, "SELECT k, SUM(CAST(name AS BIGINT)) FROM l GROUP BY k", AGGREGATE, **OLD_CASTS)
under(
    "option_of_a_later_flink",
    KV,
    SUMS.replace("FROM a", "FROM l"),
    "CMP712",
    "unknown",
    "SET 'table.exec.miracle' = '1'",
    None,
)
under(
    "option_of_caches",
    KV,
    SUMS.replace("FROM a", "FROM l"),
    old="SET 'table.exec.rank.topn-cache-size' = '1'",
    new=None,
)
ENFORCER = "SET 'table.exec.sink.type-length-enforcer' = '{}'"
CUT = "k INT, s {}, PRIMARY KEY (k) NOT ENFORCED"
NAMES = "SELECT k, MAX(name) FROM a GROUP BY k"
LENGTHS = {"before": (FORCED, ENFORCER.format("IGNORE"), A), "before_new": (FORCED, ENFORCER.format("TRIM_PAD"), A)}
pair("sink_cuts", CUT.format("VARCHAR(3)"), NAMES, NAMES, ROWS, **LENGTHS)
pair("sink_cuts_nothing", CUT.format("STRING"), NAMES, NAMES, **LENGTHS)
