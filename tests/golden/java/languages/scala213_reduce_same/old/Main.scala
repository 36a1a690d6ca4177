package shop

import lab.Lab
import org.apache.flink.api.common.typeinfo.Types
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink
import java.lang.{Long => JLong}

object Main {
  def main(arguments: Array[String]): Unit = {
    val env = StreamExecutionEnvironment.getExecutionEnvironment
    Lab.longs(env).uid("numbers")
      .keyBy((value: JLong) => Long.box(value % 3), Types.LONG)
      .reduce((left: JLong, right: JLong) => Lab.seen("reduced", left % 3, left, Long.box(left + right * 3))).uid("reduce")
      .sinkTo(new DiscardingSink[JLong]).uid("sink")
    env.execute("accounts")
  }
}
