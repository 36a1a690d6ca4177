package shop

import lab.Lab
import org.apache.flink.api.common.typeinfo.Types
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink

fun main() {
    val env = StreamExecutionEnvironment.getExecutionEnvironment()
    Lab.longs(env).uid("numbers")
        .filter { value -> value >= 0 }.uid("positive")
        .keyBy({ value -> value % 3 }, Types.LONG)
        .reduce { left, right -> Lab.seen("reduced", left % 3, left, left + right * 3) }.uid("reduce")
        .sinkTo(DiscardingSink()).uid("sink")
    env.execute("accounts")
}
