"""Pairs of programs of PyFlink's Table API, of SQL in PyFlink, and of both with the DataStream API."""

from __future__ import annotations

from msgspec import Struct

TABLES = '''\
from pyflink.common import Row, Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.table import AggregateFunction, DataTypes, StreamTableEnvironment
from pyflink.table.expressions import col, lit
from pyflink.table.udf import udaf, udf, udtf
from pyflink.table.window import Tumble

env = StreamExecutionEnvironment.get_execution_environment()
t = StreamTableEnvironment.create(env)
t.execute_sql("""CREATE TABLE orders (product STRING, amount BIGINT, ts TIMESTAMP(3),
                 WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('connector' = 'datagen')""")
t.execute_sql("CREATE TABLE products (id STRING, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'datagen')")
t.execute_sql("CREATE TABLE longs (k STRING, n BIGINT) WITH ('connector' = 'blackhole')")
t.execute_sql("CREATE TABLE pairs (k STRING, n BIGINT, m BIGINT) WITH ('connector' = 'blackhole')")
t.execute_sql("CREATE TABLE names (k STRING, name STRING) WITH ('connector' = 'blackhole')")
orders, products = t.from_path("orders"), t.from_path("products")

'''

KEPT, MOVED = "kept", "moved"
"""What becomes of an operator that has state: NEW has its id, or has not."""

PYTHON = """\
class Count(KeyedProcessFunction):
    def open(self, context):
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, row, context):
        self.count.update((self.count.value() or 0) + row[1])
        yield Row(row[0], self.count.value())


stream = t.to_data_stream(orders.select(col("product"), col("amount")))
row = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()])
counts = stream.key_by(lambda row: row[0], Types.STRING()).process(Count(), row)
t.from_data_stream(counts.uid("count")).execute_insert("longs")
"""

UDAF = """\
class Total(AggregateFunction):
    def create_accumulator(self):
        return Row(0)

    def accumulate(self, accumulator, value):
        accumulator[0] += value

    def retract(self, accumulator, value):
        accumulator[0] -= value

    def get_value(self, accumulator):
        return accumulator[0]

    def get_accumulator_type(self):
        return DataTypes.ROW([DataTypes.FIELD("f0", DataTypes.BIGINT())])

    def get_result_type(self):
        return DataTypes.BIGINT()


t.create_temporary_function("total", udaf(Total()))
t.execute_sql("INSERT INTO longs SELECT product, total(amount) FROM orders GROUP BY product")
"""


PANDAS = """\
@udaf(result_type=DataTypes.BIGINT(), func_type="pandas")
def total(amounts):
    return amounts.sum()


orders.window(Tumble.over(lit(10).minutes).on(col("ts")).alias("w")).group_by(col("product"), col("w")).select(
    col("product"), total(col("amount"))
).execute_insert("longs")
"""

INLINE = """\
@udf(result_type=DataTypes.STRING())
def short(name):
    return name[:3]


orders.select(short(col("product")).alias("k"), col("amount")).group_by(col("k")).select(
    col("k"), col("amount").sum
).execute_insert("longs")
"""

MIXED = PYTHON.replace("t.to_data_stream(", "t.to_changelog_stream(").replace(
    'select(col("product"), col("amount"))', 'group_by(col("product")).select(col("product"), col("amount").sum)'
)
"""A stream of what a query of the Table API adds up."""


class Pair(Struct, frozen=True):
    """Two programs, what follows :data:`TABLES` in each, and what they are to show.

    ``stateful`` are the operators of OLD with state, by the kind of their node or their name, and what becomes of them.
    ``rules`` are among the rules that speak up; ``meaning`` tells that an operator of a compiled plan is kept and does
    something else, of which the rules about queries judge.
    """

    name: str
    old: str
    new: str
    stateful: dict[str, str]
    verdict: str
    rules: tuple[str, ...] = ()
    meaning: bool = False


def _changed(text: str, before: str, after: str) -> str:
    assert text.count(before) == 1, (before, text)
    return text.replace(before, after)


GROUPED = """\
orders.group_by(col("product")).select(col("product"), col("amount").sum.alias("n")).execute_insert("longs")
"""
LONG_NAMES = """\
t.get_config().set("table.exec.simplify-operator-name-enabled", "false")
"""
JOINED = """\
orders.join(products, col("product") == col("id")).select(col("product"), col("name")).execute_insert("names")
"""
WINDOWED = """\
orders.window(Tumble.over(lit(10).minutes).on(col("ts")).alias("w")).group_by(col("product"), col("w")).select(
    col("product"), col("amount").sum
).execute_insert("longs")
"""
SET = """\
statements = t.create_statement_set()
statements.add_insert_sql("INSERT INTO longs SELECT product, SUM(amount) FROM orders GROUP BY product")
statements.add_insert("names", products.group_by(col("id")).select(col("id"), col("name").max))
statements.execute()
"""
TVF = '''\
t.execute_sql("""INSERT INTO longs SELECT product, SUM(amount) FROM TABLE(
    TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '10' MINUTES)) GROUP BY product, window_start, window_end""")
'''
UDF = """\
@udf(result_type=DataTypes.BIGINT())
def twice(amount):
    return 2 * amount


t.create_temporary_function("twice", twice)
t.execute_sql("INSERT INTO longs SELECT product, SUM(twice(amount)) FROM orders GROUP BY product")
"""
UDTF = """\
@udtf(result_types=[DataTypes.STRING()])
def words(line):
    yield from line.split()


t.create_temporary_function("words", words)
t.execute_sql("INSERT INTO longs SELECT w, COUNT(*) FROM orders, LATERAL TABLE(words(product)) AS T(w) GROUP BY w")
"""
TOP = '''\
t.execute_sql("""INSERT INTO longs SELECT product, amount FROM (SELECT *, ROW_NUMBER() OVER (
    PARTITION BY product ORDER BY amount DESC) AS r FROM orders) WHERE r <= 3""")
'''

PAIRS = (
    Pair("same", GROUPED, GROUPED, {"GroupAggregate": KEPT}, "compatible"),
    Pair(
        "aggregate_exchanged",
        GROUPED,
        _changed(GROUPED, ".sum", ".max"),
        {"GroupAggregate": KEPT},
        "incompatible",
        ("CMP701",),
        meaning=True,
    ),
    Pair(
        "aggregate_added",
        GROUPED,
        _changed(_changed(GROUPED, '.alias("n"))', '.alias("n"), col("amount").max.alias("m"))'), '"longs"', '"pairs"'),
        {"GroupAggregate": KEPT},
        "incompatible",
        ("CMP404", "CMP701"),
        meaning=True,
    ),
    Pair(
        "aggregate_exchanged_under_long_names",
        LONG_NAMES + GROUPED,
        LONG_NAMES + _changed(GROUPED, ".sum", ".max"),
        {"GroupAggregate": KEPT},
        "incompatible",
        ("CMP701",),
        meaning=True,
    ),
    Pair("mixed_query_same", MIXED, MIXED, {"GroupAggregate": KEPT, "KEYED PROCESS": KEPT}, "compatible"),
    Pair(
        "mixed_query_same_under_long_names",
        LONG_NAMES + MIXED,
        LONG_NAMES + MIXED,
        {"GroupAggregate": KEPT, "KEYED PROCESS": KEPT},
        "compatible",
    ),
    Pair(
        "mixed_aggregate_exchanged",
        MIXED,
        _changed(MIXED, ".sum", ".max"),
        {"GroupAggregate": KEPT, "KEYED PROCESS": KEPT},
        "unknown",
        ("CMP713",),
    ),
    Pair(
        "mixed_aggregate_exchanged_under_long_names",
        LONG_NAMES + MIXED,
        LONG_NAMES + _changed(MIXED, ".sum", ".max"),
        {"GroupAggregate": KEPT, "KEYED PROCESS": KEPT},
        "unknown",
        ("CMP713",),
    ),
    Pair(
        "filter_before_aggregate",
        GROUPED,
        _changed(GROUPED, "orders.group_by", 'orders.where(col("amount") > 3).group_by'),
        {"GroupAggregate": MOVED},
        "incompatible",
    ),
    Pair(
        "join_kind",
        JOINED,
        _changed(JOINED, "orders.join(", "orders.left_outer_join("),
        {"Join": KEPT},
        "incompatible",
        ("CMP404", "CMP704"),
        meaning=True,
    ),
    Pair(
        "group_window_size",
        WINDOWED,
        _changed(WINDOWED, "lit(10)", "lit(20)"),
        {"GroupWindowAggregate": KEPT},
        "incompatible",
        ("CMP706",),
        meaning=True,
    ),
    Pair(
        "statement_added",
        GROUPED,
        SET,
        {"GroupAggregate": MOVED},
        "incompatible",
    ),
    Pair(
        "window_function_aggregate",
        TVF,
        _changed(TVF, "SUM(amount)", "MIN(amount)"),
        {"GlobalWindowAggregate": KEPT},
        "incompatible",
        ("CMP701",),
        meaning=True,
    ),
    Pair("python_function", UDF, _changed(UDF, "2 * amount", "3 * amount"), {"GroupAggregate": KEPT}, "compatible"),
    Pair(
        "python_table_function", UDTF, _changed(UDTF, ".split()", ".split(',')"), {"GroupAggregate": KEPT}, "compatible"
    ),
    Pair("inline_function_moved", INLINE, f"# moved\n\n{INLINE}", {"GroupAggregate": KEPT}, "compatible"),
    Pair(
        "python_aggregate",
        UDAF,
        UDAF,
        {"PythonGroupAggregate": KEPT},
        "unknown",
        ("CMP410",),
    ),
    Pair(
        "python_aggregate_changed",
        UDAF,
        _changed(UDAF, "Row(0)", "Row(1)"),
        {"PythonGroupAggregate": KEPT},
        "unknown",
        ("CMP410",),
    ),
    Pair(
        "pandas_aggregate",
        PANDAS,
        PANDAS,
        {"PythonGroupWindowAggregate": KEPT},
        "unknown",
        ("CMP410",),
    ),
    Pair("top_n", TOP, _changed(TOP, "r <= 3", "r <= 5"), {"Rank": KEPT}, "incompatible", ("CMP705",), meaning=True),
    Pair("mixed_same", PYTHON, PYTHON, {"KEYED PROCESS": KEPT}, "compatible"),
    Pair(
        "mixed_state_renamed",
        PYTHON,
        _changed(PYTHON, 'Descriptor("count"', 'Descriptor("total"'),
        {"KEYED PROCESS": KEPT},
        "incompatible",
        ("CMP402",),
    ),
    Pair(
        "mixed_state_type",
        PYTHON,
        _changed(PYTHON, '"count", Types.LONG()', '"count", Types.STRING()'),
        {"KEYED PROCESS": KEPT},
        "incompatible",
        ("CMP404",),
    ),
    Pair(
        "mixed_key_type",
        PYTHON,
        _changed(PYTHON, "row[0], Types.STRING()", "row[1], Types.LONG()"),
        {"KEYED PROCESS": KEPT},
        "incompatible",
        ("CMP406",),
    ),
    Pair(
        "mixed_uid_lost",
        PYTHON,
        _changed(PYTHON, 'counts.uid("count")', 'counts.uid("counts")'),
        {"KEYED PROCESS": MOVED},
        "incompatible",
        ("CMP102",),
    ),
)
