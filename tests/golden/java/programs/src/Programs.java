import java.util.ArrayList;
import java.util.Locale;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/** Programs that behave in ways that a loader of programs must bear. The first argument says which. */
public class Programs {
  public static void main(String[] args) throws Exception {
    switch (args[0]) {
      case "exits": job("first", new Counts("n")); System.exit(0); return;
      case "exits-before": System.exit(3); return;
      case "fails": throw new IllegalArgumentException("--topic is missing");
      case "hangs": hang(); return;
      case "leaves-thread": job("first", new Counts("n")); new Thread(Programs::sleep).start(); return;
      case "prints": for (int i = 0; i < 200_000; i++) System.out.println("a line of output " + i); job("first", new Counts("n")); return;
      case "exits-later": job("first", new Counts("n")); new Thread(Programs::exitSoon).start(); return;
      case "sets": System.setProperty("state.name", "other"); Locale.setDefault(Locale.GERMANY); job("first", new Counts("n")); return;
      case "reads": job(Locale.getDefault().toString(), new Counts(System.getProperty("state.name", "n"))); return;
      case "once": once(); return;
      case "twice": job("first", new Counts("n")); job("second", new Counts("m")); return;
      case "async": waits(); return;
      case "none": return;
      case "missing": Missing.touch(); return;
      case "local": StreamExecutionEnvironment.createLocalEnvironment().fromData(1L).print(); StreamExecutionEnvironment.createLocalEnvironment().execute(); return;
      case "collision": collision(); return;
      case "open-fails": opens(); return;
      default: throw new IllegalStateException(args[0]);
    }
  }

  static void job(String name, KeyedProcessFunction<Long, Long, Long> function) throws Exception {
    StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
    env.fromSequence(1, 10).uid("numbers").keyBy(n -> n % 3).process(function).uid("counts").name("counts").sinkTo(new DiscardingSink<>()).uid("sink");
    env.execute(name);
  }

  static void exitSoon() { try { Thread.sleep(300); } catch (InterruptedException e) { throw new RuntimeException(e); } System.exit(7); }

  /** Works only where no program of its kind ran before, as a native library of its own does. */
  static void once() throws Exception {
    if (Thread.getAllStackTraces().keySet().stream().anyMatch(t -> t.getName().equals("once"))) throw new IllegalStateException("loaded before");
    Thread mark = new Thread(Programs::sleep, "once");
    mark.setDaemon(true);
    mark.start();
    job("first", new Counts("n"));
  }

  static void waits() throws Exception {
    StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
    env.fromSequence(1, 10).sinkTo(new DiscardingSink<>());
    JobClient client = env.executeAsync("async");
    client.getJobExecutionResult().get();
  }

  static void collision() throws Exception {
    StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
    DataStream<Long> numbers = env.fromSequence(1, 10).uid("same");
    numbers.map(n -> n + 1).returns(Long.class).uid("same").sinkTo(new DiscardingSink<>());
    env.execute();
  }

  static void opens() throws Exception {
    StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
    DataStream<Long> numbers = env.fromSequence(1, 10).uid("numbers");
    numbers.keyBy(n -> n % 3).process(new Fails()).uid("fails").sinkTo(new DiscardingSink<>());
    numbers.keyBy(n -> n % 3).process(new Blocks()).uid("blocks").sinkTo(new DiscardingSink<>());
    numbers.keyBy(n -> n % 3).process(new Counts("n")).uid("counts").sinkTo(new DiscardingSink<>());
    env.execute();
  }

  static void hang() throws InterruptedException { sleep(); }

  static void sleep() { try { Thread.sleep(1_000_000); } catch (InterruptedException e) { throw new RuntimeException(e); } }

  static class Counts extends KeyedProcessFunction<Long, Long, Long> {
    private final String state;
    private transient ValueState<Long> count;
    Counts(String state) { this.state = state; }
    @Override public void open(OpenContext context) { count = getRuntimeContext().getState(new ValueStateDescriptor<>(state, Long.class)); }
    @Override public void processElement(Long value, Context context, Collector<Long> out) throws Exception { out.collect(value); }
  }

  static class Fails extends Counts {
    Fails() { super("n"); }
    @Override public void open(OpenContext context) { throw new IllegalStateException("no connection to db:5432"); }
  }

  static class Blocks extends Counts {
    Blocks() { super("n"); }
    @Override public void open(OpenContext context) { sleep(); }
  }
}
