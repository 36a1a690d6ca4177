package cases;

import org.apache.avro.Schema;
import org.apache.flink.formats.avro.typeutils.GenericRecordAvroTypeInfo;

/** The value of b would be written as that of c. */
public class AvroGenericMoved {
  static final String TAIL = ",{\"name\":\"b\",\"type\":\"long\"},{\"name\":\"c\",\"type\":\"long\"}]}";
  static final String HEAD = "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"a\",\"type\":\"long\"}";
  public static void main(String[] args) throws Exception {
    Jobs.value(new GenericRecordAvroTypeInfo(new Schema.Parser().parse(HEAD + TAIL)), n -> null);
  }
}
