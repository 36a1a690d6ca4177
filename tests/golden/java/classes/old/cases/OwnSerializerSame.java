package cases;

/** Other methods than those that write and read. */
public class OwnSerializerSame extends OwnSerializerBase {
  public static void main(String[] args) throws Exception { Jobs.value(info(new OwnSerializerSame()), n -> n); }

  @Override public org.apache.flink.api.common.typeutils.TypeSerializerSnapshot<Long> snapshotConfiguration() { return new Snap(); }
  public static class Snap extends Always { @Override public OwnSerializerSame restoreSerializer() { return new OwnSerializerSame(); } }
}
