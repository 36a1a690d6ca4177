package cases;

import java.io.IOException;
import org.apache.flink.core.memory.*;
import org.apache.flink.types.Value;

public class ValueType {
  public static void main(String[] args) throws Exception { Jobs.value(P.class, n -> new P()); }
  public static class P implements Value {
    long n;
    @Override public void write(DataOutputView out) throws IOException { out.writeLong(n); }
    @Override public void read(DataInputView in) throws IOException { n = in.readLong(); }
  }
}
