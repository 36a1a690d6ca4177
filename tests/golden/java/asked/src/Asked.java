package shop.asked;

import java.io.Serializable;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.ReduceFunction;
import org.apache.flink.api.common.functions.RuntimeContext;
import org.apache.flink.api.common.state.*;
import org.apache.flink.api.common.typeinfo.TypeHint;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.TumblingProcessingTimeWindows;
import org.apache.flink.streaming.api.windowing.triggers.Trigger;
import org.apache.flink.streaming.api.windowing.triggers.TriggerResult;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/** Functions that ask for state when records come, each in another way; the uid of its operator is the name of its class. */
public final class Asked {
  public static void main(String[] arguments) throws Exception {
    StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
    build(env);
    env.execute("asked");
  }

  public static void build(StreamExecutionEnvironment env) {
    env.setParallelism(1);
    KeyedStream<Long, Long> numbers =
        env.fromSource(
                new DataGeneratorSource<>(v -> v, Long.MAX_VALUE, RateLimiterStrategy.perSecond(200), Types.LONG),
                WatermarkStrategy.noWatermarks(), "numbers")
            .uid("numbers").keyBy(v -> v % 3, Types.LONG);
    for (Keyed function :
        List.of(
            new Constants(), new OfFields("given", 5), new InHelper(), new Lazily(), new OfStatics(), new InList(), new InMap(),
            new OfSupplier(() -> new ValueStateDescriptor<>("supplied", Types.STRING)), new Folding(), new Inherited(),
            new ByName(), new TwoTypes(), new Elsewhere(new Inner()), new Foreign(), new Changing(), new Growing())) {
      end(numbers.process(function).returns(Types.LONG), function.getClass().getSimpleName());
    }
    end(numbers.window(TumblingProcessingTimeWindows.of(Duration.ofSeconds(1))).process(new InWindows()), "InWindows");
    end(numbers.window(TumblingProcessingTimeWindows.of(Duration.ofSeconds(1))).trigger(new Counting())
        .reduce((a, b) -> b), "Counting");
  }

  static void end(DataStream<Long> stream, String uid) {
    ((org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator<Long>) stream).uid(uid);
    stream.sinkTo(new DiscardingSink<>()).uid(uid + " sink");
  }

  public abstract static class Keyed extends KeyedProcessFunction<Long, Long, Long> {
    public void processElement(Long value, Context context, Collector<Long> out) throws Exception {
      see(value);
      out.collect(value);
    }

    abstract void see(Long value) throws Exception;
  }

  public static class Constants extends Keyed {
    void see(Long value) throws Exception {
      getRuntimeContext().getState(new ValueStateDescriptor<>("long", Long.class)).update(value);
      getRuntimeContext().getMapState(new MapStateDescriptor<>("map", Types.STRING, Types.INT)).put("a", 1);
      getRuntimeContext().getListState(new ListStateDescriptor<>("hint", new TypeHint<Tuple2<Long, String>>() {}.getTypeInfo()))
          .add(Tuple2.of(1L, "b"));
    }
  }

  public static class OfFields extends Keyed {
    private final String name;
    private final int days;

    OfFields(String name, int days) {
      this.name = name;
      this.days = days;
    }

    void see(Long value) throws Exception {
      ValueStateDescriptor<Long> descriptor = new ValueStateDescriptor<>("of-" + name, Types.LONG);
      if (days > 0) {
        descriptor.enableTimeToLive(
            StateTtlConfig.newBuilder(Duration.ofDays(days)).setUpdateType(StateTtlConfig.UpdateType.OnReadAndWrite).build());
      }
      getRuntimeContext().getState(descriptor).update(value);
    }
  }

  public static class InHelper extends Keyed {
    void see(Long value) throws Exception {
      state("first", getRuntimeContext()).update(value);
      state("second", getRuntimeContext()).update(value);
    }

    private static ValueState<Long> state(String name, RuntimeContext context) {
      return context.getState(new ValueStateDescriptor<>(name, TypeInformation.of(Long.class)));
    }
  }

  public static class Lazily extends Keyed {
    private transient ValueStateDescriptor<Long> descriptor;
    private transient ValueState<Long> state;

    void see(Long value) throws Exception {
      if (descriptor == null) {
        descriptor = new ValueStateDescriptor<>("lazily", Types.LONG);
      }
      if (state == null) {
        state = getRuntimeContext().getState(descriptor);
      }
      state.update(value);
    }
  }

  public static class OfStatics extends Keyed {
    private static final ValueStateDescriptor<Long> STATIC = new ValueStateDescriptor<>("static", Types.LONG);

    void see(Long value) throws Exception {
      getRuntimeContext().getState(STATIC).update(value);
    }
  }

  public static class InList extends Keyed {
    private final List<ValueStateDescriptor<Long>> listed =
        List.of(new ValueStateDescriptor<>("one", Types.LONG), new ValueStateDescriptor<>("two", Types.LONG));

    void see(Long value) throws Exception {
      for (ValueStateDescriptor<Long> one : listed) {
        getRuntimeContext().getState(one).update(value);
      }
    }
  }

  public static class InMap extends Keyed {
    private final Map<String, ValueStateDescriptor<Long>> mapped = new HashMap<>();

    InMap() {
      mapped.put("x", new ValueStateDescriptor<>("mapped-x", Types.LONG));
      mapped.put("y", new ValueStateDescriptor<>("mapped-y", Types.LONG));
    }

    void see(Long value) throws Exception {
      getRuntimeContext().getState(mapped.get(value % 2 == 0 ? "x" : "y")).update(value);
    }
  }

  public interface Describing extends Supplier<ValueStateDescriptor<String>>, Serializable {}

  public static class OfSupplier extends Keyed {
    private final Describing describing;

    OfSupplier(Describing describing) {
      this.describing = describing;
    }

    void see(Long value) throws Exception {
      getRuntimeContext().getState(describing.get()).update("s" + value);
    }
  }

  public static class Folding extends Keyed {
    void see(Long value) throws Exception {
      ReduceFunction<Long> later = (a, b) -> b;
      getRuntimeContext().getReducingState(new ReducingStateDescriptor<>("folded", later, Types.LONG)).add(value);
    }
  }

  public static class Inherited extends Constants {
    void see(Long value) throws Exception {
      getRuntimeContext().getState(new ValueStateDescriptor<>("instead", Types.STRING)).update("s");
    }
  }

  /** A name that only records tell. */
  public static class ByName extends Keyed {
    void see(Long value) throws Exception {
      getRuntimeContext().getState(new ValueStateDescriptor<>("n" + value % 2, Types.LONG)).update(value);
    }
  }

  /** One name, two types. */
  public static class TwoTypes extends Keyed {
    void see(Long value) throws Exception {
      if (value % 3 == 0) {
        getRuntimeContext().getState(new ValueStateDescriptor<>("both", Types.LONG)).update(value);
      } else if (value < 0) {
        getRuntimeContext().getState(new ValueStateDescriptor<>("both", Types.STRING)).update("s");
      }
    }
  }

  public interface Asker extends Serializable {
    void ask(RuntimeContext context) throws Exception;
  }

  public static class Inner implements Asker {
    public void ask(RuntimeContext context) throws Exception {
      context.getState(new ValueStateDescriptor<>("inner", Types.LONG)).update(1L);
    }
  }

  /** An object that asks is found by its class, not by the interface that its field has. */
  public static class Elsewhere extends Keyed {
    private final Asker asker;

    Elsewhere(Asker asker) {
      this.asker = asker;
    }

    void see(Long value) throws Exception {
      asker.ask(getRuntimeContext());
    }
  }

  /** Code that nobody looks at gets the context. */
  public static class Foreign extends Keyed {
    void see(Long value) throws Exception {
      other.lib.Library.ask(getRuntimeContext());
    }
  }

  /** What a field holds changes with the records. */
  public static class Changing extends Keyed {
    private String name = "before";

    void see(Long value) throws Exception {
      getRuntimeContext().getState(new ValueStateDescriptor<>(name, Types.LONG)).update(value);
      name = "after";
    }
  }

  /** A list that grows. */
  public static class Growing extends Keyed {
    private final List<ValueStateDescriptor<Long>> grown = new java.util.ArrayList<>();

    void see(Long value) throws Exception {
      if (grown.size() < 2) {
        grown.add(new ValueStateDescriptor<>("grown-" + value, Types.LONG));
      }
      for (ValueStateDescriptor<Long> one : grown) {
        getRuntimeContext().getState(one).update(value);
      }
    }
  }

  public static class InWindows extends ProcessWindowFunction<Long, Long, Long, TimeWindow> {
    private final ValueStateDescriptor<Long> seen = new ValueStateDescriptor<>("seen", Types.LONG);

    public void process(Long key, Context context, Iterable<Long> values, Collector<Long> out) throws Exception {
      context.globalState().getState(seen).update(key);
      context.windowState().getListState(new ListStateDescriptor<>("of-window", Types.STRING)).add("s");
      getRuntimeContext().getState(new ValueStateDescriptor<>("of-key", Types.INT)).update(1);
      out.collect(key);
    }
  }

  public static class Counting extends Trigger<Long, TimeWindow> {
    private static ValueStateDescriptor<Long> counted() {
      return new ValueStateDescriptor<>("counted", Types.LONG);
    }

    public TriggerResult onElement(Long value, long time, TimeWindow window, TriggerContext context) throws Exception {
      context.getPartitionedState(counted()).update(value);
      return TriggerResult.CONTINUE;
    }

    public TriggerResult onProcessingTime(long time, TimeWindow window, TriggerContext context) {
      return TriggerResult.FIRE;
    }

    public TriggerResult onEventTime(long time, TimeWindow window, TriggerContext context) {
      return TriggerResult.CONTINUE;
    }

    public void clear(TimeWindow window, TriggerContext context) {}
  }
}
