"""Random queries in SQL, and new versions of them: of each family every part that decides about state is drawn.

What a part is drawn from has parts in it that mean the same (``amount > 20`` and ``20 < amount``), so that some versions differ
in their text alone.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from msgspec import Struct

ROWS = 130
_RATE = 50
TABLES = (
    "CREATE TABLE orders (id BIGINT, uid AS MOD(id * 7, 5), amount AS MOD(id * 37, 101), qty AS CAST(CASE WHEN MOD(id, 6) = 0 "
    "THEN NULL ELSE MOD(id * 11, 13) END AS INT), cat AS CAST(CASE MOD(id, 4) WHEN 0 THEN 'a' WHEN 1 THEN 'b' WHEN 2 THEN 'c' "
    "ELSE 'd' END AS STRING), flag AS MOD(id, 2) = 0, ts AS TO_TIMESTAMP_LTZ(id * 100, 3), pt AS PROCTIME(), "
    "WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH ('connector' = 'datagen', 'rows-per-second' = '{rate}', "
    "'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '{rows}')",
    "CREATE TABLE pay (pid BIGINT, oid AS MOD(pid * 11, 131), puid AS MOD(pid * 3, 5), paid AS MOD(pid * 29, 89), meth AS CASE "
    "MOD(pid, 3) WHEN 0 THEN 'card' ELSE 'cash' END, pts AS TO_TIMESTAMP_LTZ(pid * 100, 3), WATERMARK FOR pts AS pts - "
    "INTERVAL '1' SECOND) WITH ('connector' = 'datagen', 'rows-per-second' = '{rate}', 'fields.pid.kind' = 'sequence', "
    "'fields.pid.start' = '1', 'fields.pid.end' = '{rows}')",
)
WHERE = (
    "TRUE",
    "amount > 20",
    "20 < amount",
    "amount >= 21",
    "flag",
    "cat IN ('a', 'b')",
    "cat = 'b' OR cat = 'a'",
    "amount > 20 AND flag",
    "flag AND amount > 20",
    "uid <> 3",
)
KEY = ("uid", "cat", "flag", "MOD(id, 3)", "MOD(id, 5)", "IF(flag, 1, 2)", "CASE WHEN flag THEN 1 ELSE 2 END")
AGGREGATE = (
    "SUM(amount)",
    "MAX(amount)",
    "MIN(amount)",
    "COUNT(*)",
    "COUNT(1)",
    "COUNT(qty)",
    "AVG(amount)",
    "SUM(qty)",
    "SUM(amount * 2)",
    "SUM(2 * amount)",
    "COUNT(DISTINCT cat)",
    "SUM(amount) FILTER (WHERE flag)",
    "SUM(CASE WHEN flag THEN amount END)",
    "LAST_VALUE(amount)",
    "FIRST_VALUE(amount)",
    "LISTAGG(cat)",
    "SUM(amount) + COUNT(*)",
)
WINDOW = (
    "TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '4' SECONDS)",
    "TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '6' SECONDS)",
    "TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '60' MINUTE)",
    "HOP(TABLE orders, DESCRIPTOR(ts), INTERVAL '2' SECONDS, INTERVAL '4' SECONDS)",
    "HOP(TABLE orders, DESCRIPTOR(ts), INTERVAL '2' SECONDS, INTERVAL '8' SECONDS)",
    "CUMULATE(TABLE orders, DESCRIPTOR(ts), INTERVAL '2' SECONDS, INTERVAL '8' SECONDS)",
    "SESSION(TABLE orders PARTITION BY uid, DESCRIPTOR(ts), INTERVAL '1' SECONDS)",
)
ORDER = ("amount DESC", "amount", "id DESC", "id", "qty DESC, id", "amount DESC, id")
COLUMNS = ("id, amount", "id, amount, cat", "amount, id", "id", "id, qty", "uid, id")
FAMILIES: Mapping[str, tuple[str, Mapping[str, tuple[str, ...]]]] = {
    "aggregate": ("SELECT {key}, {aggregate} FROM orders WHERE {where} GROUP BY {key}", {"aggregate": AGGREGATE}),
    "two_aggregates": (
        "SELECT {key}, {aggregate}, {second} FROM orders WHERE {where} GROUP BY {key}",
        {"aggregate": AGGREGATE, "second": AGGREGATE},
    ),
    "two_levels": (
        "SELECT n, COUNT(*) FROM (SELECT {key} AS k, {aggregate} AS n FROM orders WHERE {where} GROUP BY {key}) GROUP BY n",
        {"aggregate": AGGREGATE},
    ),
    "having": (
        "SELECT {key}, {aggregate} FROM orders WHERE {where} GROUP BY {key} HAVING {having}",
        {"aggregate": AGGREGATE, "having": ("COUNT(*) > 3", "COUNT(*) > 5", "3 < COUNT(*)", "MAX(amount) > 50")},
    ),
    "distinct": ("SELECT DISTINCT {columns} FROM orders WHERE {where}", {"columns": COLUMNS}),
    "top": (
        "SELECT {columns}, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {key} ORDER BY {order}) AS rn FROM orders "
        "WHERE {where}) WHERE rn <= {most}",
        {"columns": COLUMNS, "order": ORDER, "most": ("1", "2", "3")},
    ),
    "deduplicate": (
        "SELECT {columns} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {key} ORDER BY {time}) AS rn FROM orders "
        "WHERE {where}) WHERE rn = 1",
        {"columns": COLUMNS, "time": ("pt", "pt DESC", "ts", "ts DESC")},
    ),
    "join": (
        "SELECT o.id, {left}, {right} FROM orders o {kind} JOIN pay p ON {on} AND {besides}",
        {
            "left": ("o.amount", "o.cat", "o.qty", "o.uid"),
            "right": ("p.paid", "p.meth", "p.pid"),
            "kind": ("", "INNER", "LEFT", "FULL"),
            "on": ("o.id = p.oid", "p.oid = o.id", "o.id = p.pid", "o.amount = p.paid"),
            "besides": ("TRUE", "o.amount > p.paid", "p.paid < o.amount", "p.paid > 20", "o.flag"),
        },
    ),
    "interval_join": (
        "SELECT o.id, {left}, {right} FROM orders o JOIN pay p ON o.id = p.oid AND o.ts BETWEEN p.pts - INTERVAL {before} AND "
        "p.pts + INTERVAL {after}",
        {
            "left": ("o.amount", "o.cat", "o.qty"),
            "right": ("p.paid", "p.meth"),
            "before": ("'2' SECOND", "'5' SECOND", "'30' MINUTE"),
            "after": ("'2' SECOND", "'5' SECOND"),
        },
    ),
    "exists": (
        "SELECT o.id, {left} FROM orders o WHERE o.id {form} (SELECT {sub} FROM pay p WHERE {paid})",
        {
            "left": ("o.amount", "o.cat"),
            "form": ("IN", "NOT IN"),
            "sub": ("p.oid", "p.pid"),
            "paid": ("TRUE", "p.paid > 20", "20 < p.paid", "p.paid > 40", "p.meth = 'card'"),
        },
    ),
    "set": (
        "SELECT uid, amount FROM orders WHERE {where} {form} SELECT puid, paid FROM pay WHERE {paid}",
        {"form": ("INTERSECT", "EXCEPT", "UNION"), "paid": ("TRUE", "paid > 20", "20 < paid", "paid > 40")},
    ),
    "union": (
        "SELECT k, {of}(v) FROM (SELECT uid AS k, {left} AS v FROM orders WHERE {where} UNION ALL SELECT puid, {right} FROM "
        "pay) GROUP BY k",
        {"of": ("SUM", "MAX", "COUNT"), "left": ("amount", "amount * 2", "qty"), "right": ("paid", "puid")},
    ),
    "window": (
        "SELECT window_start, uid, {aggregate} FROM {window} WHERE {where} GROUP BY window_start, window_end, uid",
        {"aggregate": AGGREGATE, "window": WINDOW},
    ),
    "old_window": (
        "SELECT {key}, {aggregate} FROM orders WHERE {where} GROUP BY {window}, {key}",
        {
            "aggregate": AGGREGATE,
            "window": (
                "TUMBLE(ts, INTERVAL '4' SECOND)",
                "TUMBLE(ts, INTERVAL '6' SECOND)",
                "SESSION(ts, INTERVAL '1' SECOND)",
            ),
        },
    ),
    "over": (
        "SELECT id, {aggregate} OVER (PARTITION BY {key} ORDER BY ts {frame}) FROM orders WHERE {where}",
        {
            "aggregate": ("SUM(amount)", "MAX(amount)", "COUNT(*)", "AVG(amount)", "SUM(qty)"),
            "frame": (
                "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
                "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
                "ROWS BETWEEN 3 PRECEDING AND CURRENT ROW",
                "ROWS BETWEEN 5 PRECEDING AND CURRENT ROW",
                "RANGE BETWEEN INTERVAL '2' SECOND PRECEDING AND CURRENT ROW",
            ),
        },
    ),
    "pattern": (
        "SELECT T.{key2}, T.first_id, T.m FROM orders MATCH_RECOGNIZE (PARTITION BY {key2} ORDER BY ts MEASURES "
        "A.id AS first_id, LAST(B.amount) AS m ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW "
        "PATTERN (A B{times} C) DEFINE A AS A.amount > {least}, B AS {of_b}, "
        "C AS C.flag) AS T",
        {
            "key2": ("uid", "cat", "flag"),
            "times": ("", "+", "{2}"),
            "least": ("10", "20"),
            "of_b": ("B.amount > A.amount", "B.amount > 5", "NOT B.flag"),
        },
    ),
}
"""By family, the query and what its parts are drawn from; ``where`` and ``key`` are the same for all."""
OPTIONS = {
    "mini_batch": (
        "",
        "SET 'table.exec.mini-batch.enabled' = 'true'; SET 'table.exec.mini-batch.allow-latency' = '100 ms'; "
        "SET 'table.exec.mini-batch.size' = '10'",
    ),
    "time_to_live": ("", "SET 'table.exec.state.ttl' = '1 h'", "SET 'table.exec.state.ttl' = '2 h'"),
    "phase": ("", "SET 'table.optimizer.agg-phase-strategy' = 'ONE_PHASE'"),
}
_SELDOM = 0.12


class Versions(Struct, frozen=True):
    """Two scripts, the family of their query, and what differs."""

    family: str
    old: str
    new: str
    edits: tuple[str, ...]


def versions(seed: int) -> Versions:
    """The two versions of a seed."""
    drawn = random.Random(seed)
    family = drawn.choice(list(FAMILIES))
    query, own = FAMILIES[family]
    parts = {"where": WHERE, "key": KEY} | own
    choices = {name: parts[name] for name in parts if f"{{{name}}}" in query}
    old = {name: drawn.choice(texts) for name, texts in choices.items()}
    old |= {name: texts[0] if drawn.random() > _SELDOM else drawn.choice(texts) for name, texts in OPTIONS.items()}
    new = dict(old)
    for name in drawn.sample(list(choices), k=min(drawn.choice((0, 1, 1, 1, 1, 2)), len(choices))):
        new[name] = drawn.choice([one for one in choices[name] if one != old[name]])
    if drawn.random() < _SELDOM:
        name = drawn.choice(list(OPTIONS))
        new[name] = drawn.choice(OPTIONS[name])
    edits = tuple(f"{name}: {old[name]} -> {new[name]}" for name in old if old[name] != new[name])
    return Versions(family, script(query, old), script(query, new), edits)


def script(query: str, parts: Mapping[str, str]) -> str:
    """The script of a query: options, tables, a sink of texts, and the statement."""
    for name, part in parts.items():
        query = query.replace(f"{{{name}}}", part)
    names = [f"c{place}" for place in range(_columns(query))]
    settings = [parts[name] for name in OPTIONS if parts[name]]
    tables = [one.replace("{rate}", str(_RATE)).replace("{rows}", str(ROWS)) for one in TABLES]
    columns = ", ".join(f"{name} STRING" for name in names)
    sink = f"CREATE TABLE o ({columns}) WITH ('connector' = 'print', 'print-identifier' = 'o')"
    texts = ", ".join(f"CAST({name} AS STRING)" for name in names)
    insert = f"INSERT INTO o SELECT {texts} FROM ({query}) AS v({', '.join(names)})"
    return ";\n".join([*settings, *tables, sink, insert]) + ";\n"


def _columns(query: str) -> int:
    """How many columns a query gives: those behind its first SELECT."""
    depth, count = 0, 1
    for place, letter in enumerate(query):
        depth += (letter == "(") - (letter == ")")
        count += letter == "," and depth == 0
        if depth == 0 and query.startswith(" FROM ", place):
            return count
    raise ValueError(query)
