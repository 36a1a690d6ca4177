"""Adds the name of its product to each order; products arrive on a stream that every task holds in full."""

from pyflink.common import Types
from pyflink.datastream import KeyedBroadcastProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor

PRODUCT = Types.TUPLE([Types.LONG(), Types.STRING()])
ORDER = Types.TUPLE([Types.STRING(), Types.LONG()])
PRODUCTS = MapStateDescriptor("products", Types.LONG(), Types.STRING())


class Enrich(KeyedBroadcastProcessFunction):
    def open(self, runtime_context):
        self.orders = runtime_context.get_state(ValueStateDescriptor("orders", Types.LONG()))

    def process_element(self, order, ctx):
        customer, product = order
        number = (self.orders.value() or 0) + 1
        self.orders.update(number)
        yield f"{customer} #{number}: {ctx.get_broadcast_state(PRODUCTS).get(product)}"

    def process_broadcast_element(self, product, ctx):
        ctx.get_broadcast_state(PRODUCTS).put(product[0], product[1])
        return []


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    products = env.from_collection([(1, "tea"), (2, "coffee")], PRODUCT).uid("products")
    orders = env.from_collection([("ann", 1), ("bob", 2), ("ann", 2)], ORDER).uid("orders")
    enriched = (
        orders.key_by(lambda order: order[0], Types.STRING())
        .connect(products.broadcast(PRODUCTS))
        .process(Enrich(), Types.STRING())
        .name("enrich")
        .uid("enrich")
    )
    enriched.print().name("orders with names").uid("print")
    env.execute("enrichment")


if __name__ == "__main__":
    main()
