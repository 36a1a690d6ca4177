package other.lib;

import org.apache.flink.api.common.functions.RuntimeContext;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;

/** Code of another house. */
public final class Library {
  public static void ask(RuntimeContext context) throws Exception {
    context.getState(new ValueStateDescriptor<>("of-library", Types.LONG)).update(1L);
  }
}
