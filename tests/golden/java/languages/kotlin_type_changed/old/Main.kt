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
    @Transient private lateinit var kept: ValueState<Long>

    override fun open(context: OpenContext) {
        kept = runtimeContext.getState(ValueStateDescriptor("account", Long::class.javaObjectType))
    }

    override fun processElement(value: Long, context: Context, out: Collector<Long>) {
        val before: Long? = kept.value()
        val after = next(before, value)
        kept.update(after)
        Lab.see("account", context.currentKey, before?.let { show(it) }, show(after))
        out.collect(value)
    }

    private fun next(before: Long?, value: Long): Long =
        (before ?: 1) + value

    private fun show(account: Long): String = account.toString()
}

fun main() {
    val env = StreamExecutionEnvironment.getExecutionEnvironment()
    Lab.longs(env).uid("numbers")
        .keyBy({ value -> value % 3 }, Types.LONG)
        .process(Keep()).uid("keep")
        .sinkTo(DiscardingSink()).uid("sink")
    env.execute("accounts")
}
