package shop

import lab.Lab
import org.apache.flink.api.common.functions.OpenContext
import org.apache.flink.api.common.state.{ValueState, ValueStateDescriptor}
import org.apache.flink.streaming.api.functions.KeyedProcessFunction
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink
import org.apache.flink.streaming.api.scala._
import org.apache.flink.util.Collector

case class Account(count: Long, total: Long)

class Keep extends KeyedProcessFunction[Long, Long, Long] {
  @transient private var kept: ValueState[Account] = null

  override def open(context: OpenContext): Unit =
    kept = getRuntimeContext.getState(new ValueStateDescriptor[Account]("account", createTypeInformation[Account]))

  override def processElement(
      value: Long,
      context: KeyedProcessFunction[Long, Long, Long]#Context,
      out: Collector[Long]
  ): Unit = {
    val before = Option(kept.value())
    val after = next(before, value)
    kept.update(after)
    Lab.see("account", context.getCurrentKey, before.map(show).orNull, show(after))
    out.collect(value)
  }

  private def next(before: Option[Account], value: Long): Account =
    before.fold(Account(1, value))(one => Account(one.count + 1, one.total + value))

  private def show(account: Account): String =
    s"${account.count} ${account.total}"
}

object Main {
  def main(arguments: Array[String]): Unit = {
    val env = StreamExecutionEnvironment.getExecutionEnvironment
    new DataStream(Lab.longs(env.getJavaEnv)).uid("numbers")
      .map(value => value.longValue)
      .keyBy(_ % 3)
      .process(new Keep).uid("keep")
      .sinkTo(new DiscardingSink[Long]).uid("sink")
    env.execute("accounts")
  }
}
