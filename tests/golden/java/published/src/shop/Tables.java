package shop;

import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;

/** A program that reads a table of a connector that nobody brings, has a reserved word, or a class that nobody brings. */
public class Tables {
    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0 && arguments[0].equals("hadoop")) {
            throw new NoClassDefFoundError("org/apache/hadoop/conf/Configuration");
        }
        TableEnvironment environment = TableEnvironment.create(EnvironmentSettings.inStreamingMode());
        environment.executeSql("CREATE TABLE orders (" + (arguments.length > 0 ? "value" : "id") + " INT) WITH ('connector' = 'orders-cdc')");
        environment.executeSql("CREATE TABLE seen (id INT) WITH ('connector' = 'blackhole')");
        environment.executeSql("INSERT INTO seen SELECT id FROM orders");
    }
}
