import java.io.ByteArrayOutputStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.typeinfo.TypeHint;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshotSerializationUtil;
import org.apache.flink.api.common.typeutils.base.*;
import org.apache.flink.api.common.typeutils.base.array.*;
import org.apache.flink.api.java.tuple.*;
import org.apache.flink.api.java.typeutils.runtime.NullableSerializer;
import org.apache.flink.core.memory.DataOutputViewStreamWrapper;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.formats.avro.typeutils.AvroSerializer;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;

/** Prints what Flink's serializers write: a line of JSON with a label, the serializer's snapshot and values, in hex digits. */
public class Record {
    public enum Colour { RED, GREEN, BLUE }

    public static class Person {
        public String name;
        public int age;
        public List<Long> marks;
        public Colour colour;
        public Person() {}
        public Person(String name, int age, List<Long> marks, Colour colour) {
            this.name = name; this.age = age; this.marks = marks; this.colour = colour;
        }
    }

    public static class Student extends Person {
        public long number;
        public Student() {}
        public Student(String name, int age, long number) { super(name, age, null, null); this.number = number; }
    }

    static String hex(byte[] data) {
        StringBuilder text = new StringBuilder();
        for (byte b : data) text.append(String.format("%02x", b));
        return text.toString();
    }

    @SafeVarargs
    static <T> void say(String label, TypeSerializer<T> serializer, T... values) throws Exception {
        List<String> written = new ArrayList<>();
        for (T value : values) {
            DataOutputSerializer out = new DataOutputSerializer(64);
            serializer.serialize(value, out);
            written.add("\"" + hex(out.getCopyOfBuffer()) + "\"");
        }
        DataOutputSerializer out = new DataOutputSerializer(64);
        TypeSerializerSnapshotSerializationUtil.writeSerializerSnapshot(out, serializer.snapshotConfiguration());
        System.out.println("{\"label\": \"" + label + "\", \"length\": " + serializer.getLength() + ", \"snapshot\": \""
                + hex(out.getCopyOfBuffer()) + "\", \"values\": [" + String.join(", ", written) + "]}");
    }

    static <T> TypeSerializer<T> of(TypeInformation<T> type) {
        return type.createSerializer(new SerializerConfigImpl());
    }

    public static void main(String[] args) throws Exception {
        say("boolean", BooleanSerializer.INSTANCE, true, false);
        say("byte", ByteSerializer.INSTANCE, (byte) -5, (byte) 127);
        say("short", ShortSerializer.INSTANCE, (short) -3000, (short) 3);
        say("int", IntSerializer.INSTANCE, -5, Integer.MAX_VALUE);
        say("long", LongSerializer.INSTANCE, -5L, Long.MAX_VALUE);
        say("float", FloatSerializer.INSTANCE, 1.5f, -0.25f);
        say("double", DoubleSerializer.INSTANCE, 1.1, -1e300);
        say("char", CharSerializer.INSTANCE, 'a', 'é');
        say("string", StringSerializer.INSTANCE, "", "plain", "é\u0000😀", "x".repeat(300), null);
        say("big_int", BigIntSerializer.INSTANCE, new BigInteger("-123456789012345678901234567890"), BigInteger.ZERO, BigInteger.ONE, BigInteger.TEN, BigInteger.TWO, null);
        say("big_dec", BigDecSerializer.INSTANCE, new BigDecimal("-1234.5600"), BigDecimal.ZERO, BigDecimal.ONE, BigDecimal.TEN, new BigDecimal("1E+3"), null);
        say("date", DateSerializer.INSTANCE, new Date(1700000000123L), null);
        say("sql_date", SqlDateSerializer.INSTANCE, new java.sql.Date(1700006400000L), null);
        say("sql_time", SqlTimeSerializer.INSTANCE, new java.sql.Time(3723000L), null);
        Timestamp stamp = new Timestamp(1700000000123L);
        stamp.setNanos(123456789);
        say("sql_timestamp", SqlTimestampSerializer.INSTANCE, stamp, new Timestamp(-1L), null);
        say("local_date", LocalDateSerializer.INSTANCE, LocalDate.of(2024, 2, 29), null);
        say("local_time", LocalTimeSerializer.INSTANCE, LocalTime.of(23, 59, 58, 123456000), null);
        say("local_date_time", LocalDateTimeSerializer.INSTANCE, LocalDateTime.of(2024, 2, 29, 1, 2, 3, 4000), null);
        say("instant", InstantSerializer.INSTANCE, Instant.ofEpochSecond(1700000000L, 5), null);
        say("void", VoidSerializer.INSTANCE, (Void) null);
        say("bytes", BytePrimitiveArraySerializer.INSTANCE, new byte[] {1, 2, -1}, new byte[0]);
        say("longs", LongPrimitiveArraySerializer.INSTANCE, new long[] {1, -2});
        say("booleans", BooleanPrimitiveArraySerializer.INSTANCE, new boolean[] {true, false});
        say("chars", CharPrimitiveArraySerializer.INSTANCE, new char[] {'a', 'b'});
        say("doubles", DoublePrimitiveArraySerializer.INSTANCE, new double[] {0.5});
        say("strings", StringArraySerializer.INSTANCE, (Object) null == null ? new String[] {"a", null, "é"} : null);
        say("list", new ListSerializer<>(StringSerializer.INSTANCE), Arrays.asList("a", "b"), new ArrayList<>());
        Map<String, Long> map = new LinkedHashMap<>();
        map.put("a", 1L);
        map.put("b", null);
        say("map", new MapSerializer<>(StringSerializer.INSTANCE, LongSerializer.INSTANCE), map);
        say("tuple", of(Types.TUPLE(Types.LONG, Types.STRING)), Tuple2.of(5L, "x"));
        say("tuple_of_numbers", of(Types.TUPLE(Types.LONG, Types.INT)), Tuple2.of(5L, 6));
        say("objects", of(Types.OBJECT_ARRAY(Types.STRING)), new String[][] {{"a", null}});
        Row update = Row.ofKind(RowKind.UPDATE_AFTER, "a", null, 3L);
        Row delete = Row.ofKind(RowKind.DELETE, null, 2, null);
        say("row", of(Types.ROW_NAMED(new String[] {"name", "age", "total"}, Types.STRING, Types.INT, Types.LONG)), Row.of("a", 1, 2L), update, delete);
        TypeInformation<?>[] many = new TypeInformation<?>[9];
        Arrays.fill(many, Types.INT);
        say("wide_row", (TypeSerializer<Row>) (TypeSerializer) of(Types.ROW(many)), Row.of(0, null, 2, 3, 4, 5, 6, null, 8));
        say("nullable", NullableSerializer.wrap(LongSerializer.INSTANCE, false), 5L, null);
        say("nullable_padded", NullableSerializer.wrap(LongSerializer.INSTANCE, true), 5L, null);
        say("enum", new EnumSerializer<>(Colour.class), Colour.GREEN, Colour.BLUE);
        TypeSerializer<Person> person = TypeInformation.of(Person.class).createSerializer(new SerializerConfigImpl());
        Person alice = new Person("Alice", 11, Arrays.asList(1L, 2L), Colour.RED);
        say("pojo", person, alice, new Person(null, 0, null, null), null);
        TypeSerializer<Person> people = TypeInformation.of(Person.class).createSerializer(new SerializerConfigImpl());
        DataOutputSerializer scratch = new DataOutputSerializer(64);
        people.serialize(new Student("Bob", 12, 77L), scratch);
        say("pojo_of_subclass", people, new Student("Bob", 12, 77L), alice);
        Schema schema = new Schema.Parser().parse(
                "{\"type\":\"record\",\"name\":\"Order\",\"namespace\":\"shop\",\"fields\":["
                + "{\"name\":\"id\",\"type\":\"long\"},{\"name\":\"count\",\"type\":\"int\"},{\"name\":\"name\",\"type\":[\"null\",\"string\"]},"
                + "{\"name\":\"tags\",\"type\":{\"type\":\"array\",\"items\":\"string\"}},"
                + "{\"name\":\"prices\",\"type\":{\"type\":\"map\",\"values\":\"double\"}},"
                + "{\"name\":\"kind\",\"type\":{\"type\":\"enum\",\"name\":\"Kind\",\"symbols\":[\"NEW\",\"OLD\"]}},"
                + "{\"name\":\"hash\",\"type\":{\"type\":\"fixed\",\"name\":\"Hash\",\"size\":2}},"
                + "{\"name\":\"next\",\"type\":[\"null\",\"Order\"]}]}");
        GenericData.Record order = order(schema, null);
        say("avro", new AvroSerializer<>(GenericData.Record.class, schema), order, order(schema, order));
        Schema numbers = new Schema.Parser().parse(
                "{\"type\":\"record\",\"name\":\"Numbers\",\"fields\":[{\"name\":\"n\",\"type\":{\"type\":\"array\",\"items\":\"int\"}}]}");
        GenericData.Record long_list = new GenericData.Record(numbers);
        List<Integer> hundreds = new ArrayList<>();
        for (int i = 0; i < 300; i++) hundreds.add(i);
        long_list.put("n", hundreds);
        say("avro_list", new AvroSerializer<>(GenericData.Record.class, numbers), long_list);
    }

    static GenericData.Record order(Schema schema, GenericData.Record next) {
        GenericData.Record order = new GenericData.Record(schema);
        order.put("id", 5L);
        order.put("count", -2);
        order.put("name", next == null ? null : "é");
        order.put("tags", next == null ? new ArrayList<>() : Arrays.asList("a", "b"));
        Map<String, Double> prices = new LinkedHashMap<>();
        if (next != null) prices.put("x", 0.5);
        order.put("prices", prices);
        order.put("kind", new GenericData.EnumSymbol(schema.getField("kind").schema(), "OLD"));
        order.put("hash", new GenericData.Fixed(schema.getField("hash").schema(), new byte[] {1, 2}));
        order.put("next", next);
        return order;
    }
}
