package cases;

import org.apache.flink.api.common.typeutils.*;

/** The snapshot's new version asks for a migration. */
public class OwnSerializerDecides extends OwnSerializerBase {
  public static void main(String[] args) throws Exception { Jobs.value(info(new OwnSerializerDecides()), n -> n); }
  @Override public void serialize(Long value, org.apache.flink.core.memory.DataOutputView out) throws java.io.IOException { out.writeLong(value + 1); }
  public static class Snap extends Always {
    @Override public int getCurrentVersion() { return 2; }
    @Override public OwnSerializerDecides restoreSerializer() { return new OwnSerializerDecides(); }
    @Override public TypeSerializerSchemaCompatibility<Long> resolveSchemaCompatibility(TypeSerializerSnapshot<Long> old) {
      return old.getCurrentVersion() < 2 ? TypeSerializerSchemaCompatibility.compatibleAfterMigration() : TypeSerializerSchemaCompatibility.compatibleAsIs();
    }
  }
  @Override public TypeSerializerSnapshot<Long> snapshotConfiguration() { return new Snap(); }
}
