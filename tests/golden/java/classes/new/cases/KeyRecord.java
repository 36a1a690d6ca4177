package cases;

import org.apache.flink.api.common.typeinfo.TypeInformation;

/** A record as a key, with its own hash. */
public class KeyRecord {
  public static void main(String[] args) throws Exception { Jobs.key(n -> new K(n, "a"), TypeInformation.of(K.class)); }
  public record K(long a, String b) { @Override public int hashCode() { return b.hashCode(); } }
}
