package lab;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.connector.datagen.source.GeneratorFunction;
import org.apache.flink.streaming.api.datastream.DataStreamSource;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** What the programs have in common: their source, and how they report what they read from state. */
public final class Lab {
  /** Numbers from 0 on, 100 a second. */
  public static DataStreamSource<Long> longs(StreamExecutionEnvironment env) {
    DataGeneratorSource<Long> numbers =
        new DataGeneratorSource<>(new Same(), Long.MAX_VALUE, RateLimiterStrategy.perSecond(100), Types.LONG);
    DataStreamSource<Long> stream = env.fromSource(numbers, WatermarkStrategy.noWatermarks(), "numbers");
    stream.setParallelism(1);
    return stream;
  }

  /** Reports what a state held before a record and what it holds after it. */
  public static void see(String state, Object key, Object before, Object after) {
    System.out.println("SEEN\t" + state + "\t" + key + "\t" + before + "\t" + after);
  }

  /** The same, in an expression. */
  public static Long seen(String state, Object key, Long before, Long after) {
    see(state, key, before, after);
    return after;
  }

  public static class Same implements GeneratorFunction<Long, Long> {
    public Long map(Long value) {
      return value;
    }
  }
}
