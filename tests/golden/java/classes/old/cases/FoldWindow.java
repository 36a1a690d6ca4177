package cases;

import java.time.Duration;
import org.apache.flink.streaming.api.windowing.assigners.TumblingProcessingTimeWindows;

public class FoldWindow {
  public static void main(String[] args) throws Exception {
    var env = Jobs.env();
    Jobs.keyed(env).window(TumblingProcessingTimeWindows.of(Duration.ofDays(1))).reduce((a, b) -> a + b).uid("keep").print().uid("out");
    env.execute();
  }
}
