package cases;

public class FoldRolling {
  public static void main(String[] args) throws Exception {
    var env = Jobs.env();
    Jobs.keyed(env).reduce((a, b) -> a + b).uid("keep").print().uid("out");
    env.execute();
  }
}
