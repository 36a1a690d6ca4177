package cases;

import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple3;

/** A sum of another field. */
public class FoldBuiltIn {
  public static void main(String[] args) throws Exception {
    var env = Jobs.env();
    var tuples = env.fromSequence(1, 10).uid("numbers").map(n -> Tuple3.of(n, n, n)).returns(Types.TUPLE(Types.LONG, Types.LONG, Types.LONG)).uid("map");
    tuples.keyBy(t -> t.f0, Types.LONG).sum(1).uid("keep").print().uid("out");
    env.execute();
  }
}
