package cases;

import java.io.IOException;
import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.serialization.SerializerConfig;
import org.apache.flink.api.common.typeinfo.*;
import org.apache.flink.api.common.typeutils.*;
import org.apache.flink.core.memory.*;

public abstract class OwnSerializerBase extends TypeSerializer<Long> {
  static TypeInformation<Long> info(TypeSerializer<Long> serializer) {
    return new TypeInformation<Long>() {
      @Override public boolean isBasicType() { return false; }
      @Override public boolean isTupleType() { return false; }
      @Override public int getArity() { return 1; }
      @Override public int getTotalFields() { return 1; }
      @Override public Class<Long> getTypeClass() { return Long.class; }
      @Override public boolean isKeyType() { return false; }
      @Override public TypeSerializer<Long> createSerializer(SerializerConfig config) { return serializer; }
      public TypeSerializer<Long> createSerializer(ExecutionConfig config) { return serializer; }
      @Override public String toString() { return "own"; }
      @Override public boolean equals(Object o) { return o == this; }
      @Override public int hashCode() { return 1; }
      @Override public boolean canEqual(Object o) { return true; }
    };
  }
  @Override public boolean isImmutableType() { return true; }
  @Override public TypeSerializer<Long> duplicate() { return this; }
  @Override public Long createInstance() { return 0L; }
  @Override public Long copy(Long value) { return value; }
  @Override public Long copy(Long value, Long reuse) { return value; }
  @Override public int getLength() { return 8; }
  @Override public void serialize(Long value, DataOutputView out) throws IOException { out.writeLong(value); }
  @Override public Long deserialize(DataInputView in) throws IOException { return in.readLong(); }
  @Override public Long deserialize(Long reuse, DataInputView in) throws IOException { return deserialize(in); }
  @Override public void copy(DataInputView in, DataOutputView out) throws IOException { serialize(deserialize(in), out); }
  @Override public boolean equals(Object o) { return o != null && o.getClass() == getClass(); }
  @Override public int hashCode() { return 1; }

  public abstract static class Always implements TypeSerializerSnapshot<Long> {
    @Override public int getCurrentVersion() { return 1; }
    @Override public void writeSnapshot(DataOutputView out) {}
    @Override public void readSnapshot(int version, DataInputView in, ClassLoader loader) {}
    @Override public TypeSerializerSchemaCompatibility<Long> resolveSchemaCompatibility(TypeSerializerSnapshot<Long> old) {
      return TypeSerializerSchemaCompatibility.compatibleAsIs();
    }
  }
}
