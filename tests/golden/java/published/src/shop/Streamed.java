package shop;

import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.types.Row;

/** A query over a stream, of which Flink can write no plan: the table has no name but a number. */
public class Streamed {
    public static void main(String[] arguments) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        StreamTableEnvironment tables = StreamTableEnvironment.create(environment);
        DataStream<Row> changes = environment.fromSequence(1, 3).map(number -> Row.of(number, "name"))
                .returns(Types.ROW_NAMED(new String[] {"id", "name"}, Types.LONG, Types.STRING)).uid("changes");
        Schema schema = Schema.newBuilder().column("id", "BIGINT NOT NULL").column("name", "STRING").primaryKey("id")
                .build();
        tables.createTemporaryView("customers", tables.fromChangelogStream(changes, schema, ChangelogMode.upsert()));
        tables.executeSql("SELECT name, COUNT(*) FROM customers GROUP BY name").print();
    }
}
