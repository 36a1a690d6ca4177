"""Raises an alert when a large payment follows a small one on the same account within a minute."""

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor

PAYMENT = Types.TUPLE([Types.LONG(), Types.DOUBLE()])
PAYMENTS = [(1, 20.0), (2, 0.5), (1, 700.0), (2, 900.0), (3, 0.7), (3, 12.0)]
SMALL, LARGE = 1.0, 500.0
MINUTE = 60_000


class FraudDetector(KeyedProcessFunction):
    def open(self, runtime_context):
        self.flag = runtime_context.get_state(ValueStateDescriptor("flag", Types.BOOLEAN()))
        self.timer = runtime_context.get_state(ValueStateDescriptor("timer", Types.LONG()))

    def process_element(self, payment, ctx):
        account, amount = payment
        if self.flag.value() and amount > LARGE:
            yield f"account {account}: {amount}"
        self.flag.clear()
        if amount < SMALL:
            self.flag.update(True)
            timer = ctx.timer_service().current_processing_time() + MINUTE
            ctx.timer_service().register_processing_time_timer(timer)
            self.timer.update(timer)

    def on_timer(self, timestamp, ctx):
        self.flag.clear()
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
