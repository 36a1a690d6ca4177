package cases;

import org.apache.flink.api.common.state.*;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** What the jobs have in common: a source, a key, an operator with the uid "keep". */
public class Jobs {
  public interface Make<T> extends java.io.Serializable { T make(long n) throws Exception; }

  public static StreamExecutionEnvironment env() { return StreamExecutionEnvironment.getExecutionEnvironment(); }

  public static KeyedStream<Long, Long> keyed(StreamExecutionEnvironment env) {
    return env.fromSequence(1, 10).uid("numbers").keyBy(n -> n % 3, TypeInformation.of(Long.class));
  }

  public static <T> void value(TypeInformation<T> type, Make<T> make) throws Exception {
    StreamExecutionEnvironment env = env();
    keyed(env).process(new Keep<>(new ValueStateDescriptor<T>("st", type), make)).uid("keep").print().uid("out");
    env.execute();
  }

  public static <T> void value(Class<T> type, Make<T> make) throws Exception { value(TypeInformation.of(type), make); }

  public static <K> void key(KeySelector<Long, K> key, TypeInformation<K> type) throws Exception {
    StreamExecutionEnvironment env = env();
    env.fromSequence(1, 10).uid("numbers").keyBy(key, type).process(new Count<K>()).uid("keep").print().uid("out");
    env.execute();
  }

  public static class Keep<T> extends KeyedProcessFunction<Long, Long, Long> {
    final ValueStateDescriptor<T> descriptor;
    final Make<T> make;
    public Keep(ValueStateDescriptor<T> descriptor, Make<T> make) { this.descriptor = descriptor; this.make = make; }
    @Override public void processElement(Long n, Context context, Collector<Long> out) throws Exception {
      getRuntimeContext().getState(descriptor).update(make.make(n));
      out.collect(n);
    }
    @Override public void open(org.apache.flink.api.common.functions.OpenContext context) { getRuntimeContext().getState(descriptor); }
  }

  public static class Count<K> extends KeyedProcessFunction<K, Long, Long> {
    @Override public void processElement(Long n, Context context, Collector<Long> out) throws Exception { out.collect(n); }
    @Override public void open(org.apache.flink.api.common.functions.OpenContext context) {
      getRuntimeContext().getState(new ValueStateDescriptor<>("st", Long.class));
    }
  }
}
