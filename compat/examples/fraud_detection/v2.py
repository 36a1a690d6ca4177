"""Raises an alert when a large payment follows a small one on the same account; now it knows by how much."""

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor

PAYMENT = Types.TUPLE([Types.LONG(), Types.DOUBLE()])
PAYMENTS = [(1, 20.0), (2, 0.5), (1, 700.0), (2, 900.0), (3, 0.7), (3, 12.0)]
SMALL, LARGE = 1.0, 500.0
MINUTE = 60_000


class FraudDetector(KeyedProcessFunction):
    def open(self, runtime_context):
        self.small = runtime_context.get_state(ValueStateDescriptor("small-amount", Types.DOUBLE()))
        self.timer = runtime_context.get_state(ValueStateDescriptor("timer", Types.STRING()))

    def process_element(self, payment, ctx):
        account, amount = payment
        if self.small.value() is not None and amount > LARGE:
            yield f"account {account}: {amount} after {self.small.value()}"
        self.small.clear()
        if amount < SMALL:
            self.small.update(amount)
            timer = ctx.timer_service().current_processing_time() + MINUTE
            ctx.timer_service().register_processing_time_timer(timer)
            self.timer.update(str(timer))

    def on_timer(self, timestamp, ctx):
        self.small.clear()
        self.timer.clear()
        return []


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    env.set_max_parallelism(128)
    payments = env.from_collection(PAYMENTS, PAYMENT).uid("payments")
    alerts = (
        payments.key_by(lambda payment: payment[0], Types.LONG())
        .process(FraudDetector(), Types.STRING())
        .name("fraud detector")
        .uid("fraud-detector")
    )
    alerts.print().name("alerts").uid("alerts")
    env.execute("fraud detection")


if __name__ == "__main__":
    main()
