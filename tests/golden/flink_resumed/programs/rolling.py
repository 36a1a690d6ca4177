"""Rolling aggregates: what streams of keys have without a function of their own, and reductions of rows.

PyFlink begins these anew at a restore, as their state has another name in each submission.
"""

from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.datastream import ReduceFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource

LINES_A_NUMBER = 5
SALE = Types.TUPLE([Types.STRING(), Types.LONG(), Types.DOUBLE()])
CART = Types.ROW_NAMED(["customer", "items", "total"], [Types.INT(), Types.LIST(Types.LONG()), Types.DOUBLE()])


class Carts(ReduceFunction):
    def reduce(self, a, b):
        return Row(customer=a.customer, items=[*a.items, *b.items][-4:], total=a.total + b.total)


def build(env, count, slowly):
    none = WatermarkStrategy.no_watermarks()
    numbers = env.from_source(NumberSequenceSource(1, count), none, "numbers").uid("numbers")
    numbers = numbers.map(slowly, Types.LONG()).uid("slowly")
    sales = numbers.map(lambda n: (f"shop {n % 3}", n * 7 % 50, n / 4), SALE).uid("sales")
    shops = sales.key_by(lambda sale: sale[0], Types.STRING())
    text = Types.STRING()
    carts = numbers.map(lambda n: Row(customer=n % 6, items=[n], total=n * 1.5), CART).uid("carts")
    streams = [
        shops.sum(1).uid("sum").map(lambda sale: f"sum {sale}", text),
        shops.min(2).uid("min").map(lambda sale: f"min {sale}", text),
        shops.max_by(1).uid("best").map(lambda sale: f"best {sale}", text),
        shops.reduce(lambda a, b: (a[0], a[1] + b[1], max(a[2], b[2]))).uid("own").map(lambda sale: f"own {sale}", text),
        carts.key_by(lambda cart: cart.customer, Types.INT()).reduce(Carts()).uid("filled").map(str, text),
    ]
    return streams[0].union(*streams[1:])
