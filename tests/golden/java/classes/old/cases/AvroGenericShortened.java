package cases;

import org.apache.avro.Schema;
import org.apache.flink.formats.avro.typeutils.GenericRecordAvroTypeInfo;

public class AvroGenericShortened {
  static final String TAIL = ",{\"name\":\"b\",\"type\":\"int\"}]}";
  static final String HEAD = "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"a\",\"type\":\"long\"}";
  public static void main(String[] args) throws Exception {
    Jobs.value(new GenericRecordAvroTypeInfo(new Schema.Parser().parse(HEAD + TAIL)), n -> null);
  }
}
