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



class Keep : KeyedProcessFunction<Long, Long, Long>() {
    @Transient private lateinit var kept: ValueState<String>

    override fun open(context: OpenContext) {
        kept = runtimeContext.getState(ValueStateDescriptor("account", String::class.java))
    }

    override fun processElement(value: Long, context: Context, out: Collector<Long>) {
        val before: String? = kept.value()
        val after = next(before, value)
        kept.update(after)
        Lab.see("account", context.currentKey, before?.let { show(it) }, show(after))
        out.collect(value)
    }

    private fun next(before: String?, value: Long): String =
        ((before ?: "1").toLong() + value).toString()

    private fun show(account: String): String = account
}

fun main() {
    val env = StreamExecutionEnvironment.getExecutionEnvironment()
    Lab.longs(env).uid("numbers")
        .keyBy({ value -> value % 3 }, Types.LONG)
        .process(Keep()).uid("keep")
        .sinkTo(DiscardingSink()).uid("sink")
    env.execute("accounts")
}
