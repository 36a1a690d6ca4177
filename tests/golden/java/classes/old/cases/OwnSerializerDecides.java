package cases;

import org.apache.flink.api.common.typeutils.*;

/** The snapshot's new version asks for a migration. */
public class OwnSerializerDecides extends OwnSerializerBase {
  public static void main(String[] args) throws Exception { Jobs.value(info(new OwnSerializerDecides()), n -> n); }
  public static class Snap extends Always { @Override public OwnSerializerDecides restoreSerializer() { return new OwnSerializerDecides(); } }
  @Override public TypeSerializerSnapshot<Long> snapshotConfiguration() { return new Snap(); }
}
