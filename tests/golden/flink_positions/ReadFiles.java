import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.connector.file.src.reader.TextLineInputFormat;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * Reads nine files of 300 lines slowly with two readers, at an end or looking for more, and stops with a savepoint in the midst.
 * Arguments: folder of the files (made here), whether to look for more, folder of the savepoint, file for the lines that were read.
 */
public class ReadFiles {
    static final ConcurrentLinkedQueue<String> READ = new ConcurrentLinkedQueue<>();

    public static class Slowly implements MapFunction<String, String> {
        @Override
        public String map(String line) throws Exception {
            if (READ.size() > 700) Thread.sleep(20);
            READ.add(line);
            return line;
        }
    }

    public static void main(String[] args) throws Exception {
        Path folder = Path.of(args[0]);
        Files.createDirectories(folder);
        for (int file = 0; file < 9; file++) {
            List<String> lines = new ArrayList<>();
            for (int line = 0; line < 300; line++) lines.add("file " + file + " line " + line + (line % 7 == 0 ? " \u00e9\u4e16" : ""));
            Files.write(folder.resolve("part-" + file + ".txt"), lines);
        }
        Configuration configuration = new Configuration();
        configuration.setString("parallelism.default", "2");
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(2, configuration);
        FileSource.FileSourceBuilder<String> source = FileSource.forRecordStreamFormat(
                new TextLineInputFormat(), new org.apache.flink.core.fs.Path(folder.toUri()));
        if (args[1].equals("more")) source.monitorContinuously(Duration.ofMillis(200));
        environment.fromSource(source.build(), WatermarkStrategy.noWatermarks(), "files").uid("files")
                .map(new Slowly()).uid("slowly").print().uid("lines");
        JobClient client = environment.executeAsync("files");
        while (READ.size() < 760) Thread.sleep(50);
        String written = client.stopWithSavepoint(false, new File(args[2]).toURI().toString(), SavepointFormatType.CANONICAL)
                .get(60, TimeUnit.SECONDS);
        Files.write(Path.of(args[3]), new ArrayList<>(READ));
        System.err.println(written);
        System.exit(0);
    }
}
