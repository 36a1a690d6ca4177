import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;

/** Runs an SQL script in a MiniCluster, and stops it with a canonical savepoint: SCRIPT MILLISECONDS FOLDER. */
public class SavedSql {
    public static void main(String[] args) throws Exception {
        JobClient job = RestoredSql.run(args[0], new Configuration()).getJobClient().get();
        while (job.getJobStatus().get() != JobStatus.RUNNING) {
            Thread.sleep(20);
        }
        Thread.sleep(Long.parseLong(args[1]));
        String kept = job.stopWithSavepoint(false, args[2], SavepointFormatType.CANONICAL).get(60, TimeUnit.SECONDS);
        System.out.println("SAVEPOINT " + kept);
        System.exit(0);
    }
}
