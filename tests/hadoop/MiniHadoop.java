import java.io.File;
import java.io.FileOutputStream;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/** HDFS with one data node, and on demand YARN with one node manager; until standard input is closed. */
public class MiniHadoop {
  public static void main(String[] arguments) {
    try {
      run(arguments);
    } catch (Throwable error) { // its threads would keep it alive
      error.printStackTrace();
      System.exit(1);
    }
    System.exit(0);
  }

  private static void run(String[] arguments) throws Exception {
    File folder = new File(arguments[0]);
    boolean withYarn = arguments.length > 1;
    Configuration conf = new Configuration(false);
    conf.addResource("core-default.xml");
    conf.addResource("hdfs-default.xml");
    conf.addResource("yarn-default.xml");
    conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, folder + "/dfs");
    conf.set("dfs.permissions.enabled", "false");
    conf.set("dfs.replication", "1");
    MiniDFSCluster dfs = new MiniDFSCluster.Builder(conf).numDataNodes(1).build();
    dfs.waitActive();
    Configuration told = new Configuration(false);
    told.set("fs.defaultFS", dfs.getURI().toString());
    write(told, new File(folder, "conf/core-site.xml"));
    if (withYarn) {
      conf.set("fs.defaultFS", dfs.getURI().toString());
      conf.set("yarn.nodemanager.vmem-check-enabled", "false");
      conf.set("yarn.nodemanager.pmem-check-enabled", "false");
      conf.set("yarn.scheduler.minimum-allocation-mb", "128");
      conf.set("yarn.minicluster.yarn.nodemanager.resource.memory-mb", arguments[1]);
      conf.set("yarn.nodemanager.resource.cpu-vcores", "8");
      conf.set("yarn.scheduler.capacity.root.queues", "default");
      conf.set("yarn.scheduler.capacity.root.default.capacity", "100");
      conf.set("yarn.scheduler.capacity.maximum-am-resource-percent", "0.9");
      conf.set("yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", "99.9");
      conf.set("yarn.resourcemanager.am.max-attempts", "3");
      conf.set("yarn.nodemanager.delete.debug-delay-sec", "3600"); // what containers said is there after a failure
      MiniYARNCluster yarn = new MiniYARNCluster("yarn", 1, 1, 1);
      yarn.init(conf);
      yarn.start();
      Configuration running = new Configuration(false);
      for (String name : new String[] {
          "yarn.resourcemanager.address", "yarn.resourcemanager.scheduler.address",
          "yarn.resourcemanager.resource-tracker.address", "yarn.resourcemanager.admin.address",
          "yarn.resourcemanager.webapp.address", "yarn.resourcemanager.hostname",
          "yarn.resourcemanager.am.max-attempts" }) {
        if (yarn.getConfig().get(name) != null) running.set(name, yarn.getConfig().get(name));
      }
      write(running, new File(folder, "conf/yarn-site.xml"));
    }
    System.out.println("READY " + dfs.getURI());
    System.out.flush();
    while (System.in.read() >= 0) { }
  }

  private static void write(Configuration conf, File file) throws Exception {
    file.getParentFile().mkdirs();
    try (OutputStream out = new FileOutputStream(file)) { conf.writeXml(out); }
  }
}
