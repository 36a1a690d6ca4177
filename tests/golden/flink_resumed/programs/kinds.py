"""States of every type, under keys that are pickled, tuples and rows."""

import datetime
import decimal

from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor

ROW = Types.ROW_NAMED(["name", "age", "marks"], [Types.STRING(), Types.INT(), Types.LIST(Types.LONG())])
TYPES = {
    "string": (Types.STRING(), lambda n: f"é😀{n}"),
    "boolean": (Types.BOOLEAN(), lambda n: n % 2 == 0),
    "byte": (Types.BYTE(), lambda n: n % 100 - 50),
    "short": (Types.SHORT(), lambda n: -n),
    "int": (Types.INT(), lambda n: n * 1000),
    "long": (Types.LONG(), lambda n: n * 10**12),
    "float": (Types.FLOAT(), lambda n: n / 4),
    "double": (Types.DOUBLE(), lambda n: n / 3),
    "big_dec": (Types.BIG_DEC(), lambda n: decimal.Decimal(n) / 8),
    "date": (Types.SQL_DATE(), lambda n: datetime.date(2024, 1, 1) + datetime.timedelta(days=n)),
    "bytes": (Types.PRIMITIVE_ARRAY(Types.BYTE()), lambda n: bytes([n % 256, 0, 255])),
    "longs": (Types.LIST(Types.LONG()), lambda n: list(range(n % 4))),
    "strings": (Types.BASIC_ARRAY(Types.STRING()), lambda n: [f"s{n}", "b"]),
    "tuple": (Types.TUPLE([Types.LONG(), Types.STRING()]), lambda n: (n, f"t{n}")),
    "row": (ROW, lambda n: Row(name=f"r{n}", age=n, marks=[n, n + 1])),
    "map": (Types.MAP(Types.STRING(), Types.LONG()), lambda n: {f"m{n % 3}": n}),
    "pickled": (Types.PICKLED_BYTE_ARRAY(), lambda n: {"n": n, "all": (n, [n], None)}),
}


class Keeps(KeyedProcessFunction):
    def open(self, runtime_context):
        self.values = {
            name: runtime_context.get_state(ValueStateDescriptor(name, type)) for name, (type, _) in TYPES.items()
        }
        self.rows = runtime_context.get_list_state(ListStateDescriptor("rows", ROW))
        self.tuples = runtime_context.get_map_state(
            MapStateDescriptor("tuples", Types.STRING(), Types.TUPLE([Types.LONG(), Types.LONG()]))
        )

    def process_element(self, value, ctx):
        before = {name: state.value() for name, state in self.values.items()}
        for name, (_, make) in TYPES.items():
            self.values[name].update(make(value))
        self.rows.add(Row(name=f"x{value}", age=value, marks=[]))
        if value % 6 == 0:
            self.rows.clear()
        self.tuples.put(f"t{value % 4}", (value, -value))
        yield f"{value} {before} {list(self.rows.get())} {sorted(self.tuples.items())}"


def build(env, count, slowly):
    numbers = env.from_source(NumberSequenceSource(1, count), WatermarkStrategy.no_watermarks(), "numbers").uid(
        "numbers"
    )
    numbers = numbers.map(slowly, Types.LONG()).uid("slowly")
    text = Types.STRING()
    pickled = numbers.key_by(lambda n: f"p{n % 2}").process(Keeps(), text).uid("pickled key")
    tuples = (
        numbers.key_by(lambda n: (n % 2, "b"), Types.TUPLE([Types.LONG(), text]))
        .process(Keeps(), text)
        .uid("tuple key")
    )
    rows = (
        numbers.key_by(lambda n: Row(n % 3, "a"), Types.ROW([Types.LONG(), text])).process(Keeps(), text).uid("row key")
    )
    return pickled.map(lambda s: "p " + s, text).union(
        tuples.map(lambda s: "t " + s, text), rows.map(lambda s: "r " + s, text)
    )
