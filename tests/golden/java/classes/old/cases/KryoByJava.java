package cases;

import com.esotericsoftware.kryo.DefaultSerializer;
import com.esotericsoftware.kryo.serializers.JavaSerializer;

public class KryoByJava {
  public static void main(String[] args) throws Exception { Jobs.value(P.class, n -> new P(n)); }
  @DefaultSerializer(JavaSerializer.class)
  public static class P implements java.io.Serializable {
    static final long serialVersionUID = 1; long n;
    public P(long n) {}
  }
}
