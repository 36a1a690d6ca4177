package cases;

import com.esotericsoftware.kryo.*;
import com.esotericsoftware.kryo.io.*;

public class KryoWritesItself {
  public static void main(String[] args) throws Exception { Jobs.value(P.class, n -> new P(n)); }
  public static class P implements KryoSerializable {
    long n;
    public P(long n) { this.n = n; }
    @Override public void write(Kryo kryo, Output out) { out.writeLong(n); }
    @Override public void read(Kryo kryo, Input in) { n = in.readLong(); }
  }
}
