package cases;

public class OwnSerializer extends OwnSerializerBase {
  public static void main(String[] args) throws Exception { Jobs.value(info(new OwnSerializer()), n -> n); }
  @Override public void serialize(Long value, org.apache.flink.core.memory.DataOutputView out) throws java.io.IOException { out.writeLong(value); }
  @Override public org.apache.flink.api.common.typeutils.TypeSerializerSnapshot<Long> snapshotConfiguration() { return new Snap(); }
  public static class Snap extends Always { @Override public OwnSerializer restoreSerializer() { return new OwnSerializer(); } }
}
