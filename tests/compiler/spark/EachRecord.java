import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.common.eventtime.WatermarkGenerator;
import org.apache.flink.api.common.eventtime.WatermarkGeneratorSupplier;
import org.apache.flink.api.common.eventtime.WatermarkOutput;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;

/** A watermark behind each record whose timestamp is a multiple. */
public class EachRecord implements WatermarkStrategy<Object> {
    private final long delay;
    private final long every;

    public EachRecord(long delay, long every) {
        this.delay = delay;
        this.every = every;
    }

    @Override
    public WatermarkGenerator<Object> createWatermarkGenerator(WatermarkGeneratorSupplier.Context context) {
        return new WatermarkGenerator<Object>() {
            @Override
            public void onEvent(Object event, long timestamp, WatermarkOutput output) {
                if (timestamp % every == 0) {
                    output.emitWatermark(new Watermark(timestamp - delay));
                }
            }

            @Override
            public void onPeriodicEmit(WatermarkOutput output) {}
        };
    }
}
