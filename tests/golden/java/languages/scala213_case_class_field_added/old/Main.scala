package shop

import lab.Lab
import org.apache.flink.api.common.functions.OpenContext
import org.apache.flink.api.common.state.{ValueState, ValueStateDescriptor}
import org.apache.flink.api.common.typeinfo.Types
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment
import org.apache.flink.streaming.api.functions.KeyedProcessFunction
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink
import org.apache.flink.util.Collector
import java.lang.{Long => JLong}

case class Account(count: Long, total: Long)

class Keep extends KeyedProcessFunction[JLong, JLong, JLong] {
  @transient private var kept: ValueState[Account] = null

  override def open(context: OpenContext): Unit =
    kept = getRuntimeContext.getState(new ValueStateDescriptor[Account]("account", classOf[Account]))

  override def processElement(
      value: JLong,
      context: KeyedProcessFunction[JLong, JLong, JLong]#Context,
      out: Collector[JLong]
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
    Lab.longs(env).uid("numbers")
      .keyBy((value: JLong) => Long.box(value % 3), Types.LONG)
      .process(new Keep).uid("keep")
      .sinkTo(new DiscardingSink[JLong]).uid("sink")
    env.execute("accounts")
  }
}
