package shop

import lab.Lab
import org.apache.flink.api.common.functions.OpenContext
import org.apache.flink.api.common.state.ValueState
import org.apache.flink.api.common.state.ValueStateDescriptor
import org.apache.flink.api.common.typeinfo.Types
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment
import org.apache.flink.streaming.api.functions.KeyedProcessFunction
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink
import org.apache.flink.util.Collector

data class Account(var count: Long = 0, var total: Long = 0, var currency: String = "EUR")

class Keep : KeyedProcessFunction<Long, Long, Long>() {
    @Transient private lateinit var kept: ValueState<Account>

    override fun open(context: OpenContext) {
        kept = runtimeContext.getState(ValueStateDescriptor("account", Account::class.java))
    }

    override fun processElement(value: Long, context: Context, out: Collector<Long>) {
        val before: Account? = kept.value()
        val after = next(before, value)
        kept.update(after)
        Lab.see("account", context.currentKey, before?.let { show(it) }, show(after))
        out.collect(value)
    }

    private fun next(before: Account?, value: Long): Account =
        before?.copy(count = before.count + 1, total = before.total + value) ?: Account(1, value)

    private fun show(account: Account): String = "${account.count} ${account.total}"
}

fun main() {
    val env = StreamExecutionEnvironment.getExecutionEnvironment()
    Lab.longs(env).uid("numbers")
        .keyBy({ value -> value % 3 }, Types.LONG)
        .process(Keep()).uid("keep")
        .sinkTo(DiscardingSink()).uid("sink")
    env.execute("accounts")
}
