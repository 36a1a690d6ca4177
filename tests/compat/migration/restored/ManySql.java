import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;

/**
 * Runs SQL scripts, each in a MiniCluster of its own, some at a time: FILE COUNT. A line of the file is TAG, SCRIPT, FOLDER and
 * options of Flink, with tabs between. What a script prints begins with its tag. With a FOLDER it is stopped with a canonical
 * savepoint after some of its rows.
 */
public class ManySql {
    private static final long BEFORE_THE_SAVEPOINT = 1700;

    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(Integer.parseInt(args[1]));
        List<Future<?>> running = new ArrayList<>();
        for (String line : Files.readAllLines(Paths.get(args[0]))) {
            running.add(pool.submit(() -> ran(line.split("\t", -1))));
        }
        for (Future<?> one : running) {
            one.get();
        }
        System.exit(0);
    }

    static Void ran(String[] told) throws Exception {
        try {
            JobClient job = RestoredSql.run(told[1], told[0], options(told)).getJobClient().get();
            if (told[2].isEmpty()) {
                job.getJobExecutionResult().get(120, TimeUnit.SECONDS);
            } else {
                while (job.getJobStatus().get() != JobStatus.RUNNING) {
                    Thread.sleep(20);
                }
                Thread.sleep(BEFORE_THE_SAVEPOINT);
                System.out.println("SAVEPOINT " + told[0] + " " + saved(job, told[2]));
            }
        } catch (Exception failure) {
            System.out.println("FAILED " + told[0]);
            failure.printStackTrace();
        }
        return null;
    }

    static Configuration options(String[] told) {
        Configuration wanted = new Configuration();
        wanted.setString("execution.target", "local");
        wanted.setString("rest.port", "0");
        for (int at = 3; at < told.length; at++) {
            String[] option = told[at].split("=", 2);
            wanted.setString(option[0], option[1]);
        }
        return wanted;
    }

    /** Stops a job with a savepoint; tasks of a running job may still be on their way. */
    static String saved(JobClient job, String folder) throws Exception {
        for (int tries = 0; ; tries++) {
            try {
                return job.stopWithSavepoint(false, folder, SavepointFormatType.CANONICAL).get(60, TimeUnit.SECONDS);
            } catch (ExecutionException early) {
                if (tries == 20) {
                    throw early;
                }
                Thread.sleep(100);
            }
        }
    }
}
