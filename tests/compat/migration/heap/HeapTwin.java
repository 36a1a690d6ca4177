import java.io.DataInputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.core.memory.DataInputViewStreamWrapper;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.StateObjectCollection;
import org.apache.flink.runtime.checkpoint.metadata.CheckpointMetadata;
import org.apache.flink.runtime.metrics.groups.UnregisteredMetricGroups;
import org.apache.flink.runtime.operators.testutils.DummyEnvironment;
import org.apache.flink.runtime.state.CheckpointableKeyedStateBackend;
import org.apache.flink.runtime.state.KeyGroupsStateHandle;
import org.apache.flink.runtime.state.KeyedBackendSerializationProxy;
import org.apache.flink.runtime.state.KeyedStateBackendParametersImpl;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.hashmap.HashMapStateBackend;
import org.apache.flink.runtime.state.memory.MemCheckpointStreamFactory;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;

/**
 * Writes the keyed state of canonical savepoints in the heap's own form: a hashmap backend restores it, and takes a checkpoint.
 * Each argument is PLAIN|SNAPPY:SAVEPOINT:TWIN, where TWIN is a copy of the savepoint's folder.
 */
public class HeapTwin {
    public static void main(String[] args) throws Exception {
        for (String one : args) {
            String[] parts = one.split(":", 3);
            try {
                write(Path.of(parts[1]), Path.of(parts[2]), parts[0].equals("SNAPPY"));
                System.out.println("WRITTEN " + parts[2]);
            } catch (Throwable error) {
                System.out.println("FAILED " + parts[2] + " " + error);
            }
        }
        System.exit(0);
    }

    static void write(Path from, Path to, boolean snappy) throws Exception {
        CheckpointMetadata metadata;
        try (DataInputStream in = new DataInputStream(Files.newInputStream(from.resolve("_metadata")))) {
            metadata = Checkpoints.loadCheckpointMetadata(in, HeapTwin.class.getClassLoader(), from.toUri().toString());
        }
        for (OperatorState operator : metadata.getOperatorStates()) {
            for (int index : new ArrayList<>(operator.getSubtaskStates().keySet())) {
                OperatorSubtaskState subtask = operator.getState(index);
                if (subtask.getManagedKeyedState().isEmpty()) continue;
                KeyedStateHandle twin = twin(subtask.getManagedKeyedState(), operator, snappy);
                operator.putState(index, subtask.toBuilder().setManagedKeyedState(StateObjectCollection.singleton(twin)).build());
            }
        }
        try (OutputStream out = Files.newOutputStream(to.resolve("_metadata"))) {
            Checkpoints.storeCheckpointMetadata(metadata, out);
        }
    }

    @SuppressWarnings("unchecked")
    static KeyedStateHandle twin(StateObjectCollection<KeyedStateHandle> handles, OperatorState operator, boolean snappy) throws Exception {
        List<KeyedStateHandle> restored = new ArrayList<>(handles);
        DummyEnvironment environment = new DummyEnvironment("twin", 1, 0, operator.getMaxParallelism());
        environment.getExecutionConfig().setUseSnapshotCompression(snappy);
        CheckpointableKeyedStateBackend<Object> backend = new HashMapStateBackend().createKeyedStateBackend(
                new KeyedStateBackendParametersImpl<>(
                        environment, new JobID(), "twin", keys((KeyGroupsStateHandle) restored.get(0)),
                        operator.getMaxParallelism(), restored.get(0).getKeyGroupRange(), environment.getTaskKvStateRegistry(),
                        TtlTimeProvider.DEFAULT, UnregisteredMetricGroups.createUnregisteredOperatorMetricGroup(),
                        (name, value) -> {}, restored, new CloseableRegistry(), 1.0));
        var taken = backend.snapshot(1, 1, new MemCheckpointStreamFactory(1 << 30), CheckpointOptions.forCheckpointWithDefaultLocation());
        taken.run();
        SnapshotResult<KeyedStateHandle> result = (SnapshotResult<KeyedStateHandle>) taken.get();
        return result.getJobManagerOwnedSnapshot();
    }

    @SuppressWarnings("unchecked")
    static TypeSerializer<Object> keys(KeyGroupsStateHandle handle) throws Exception {
        try (var in = handle.openInputStream()) {
            KeyedBackendSerializationProxy<Object> header = new KeyedBackendSerializationProxy<>(HeapTwin.class.getClassLoader());
            header.read(new DataInputViewStreamWrapper(in));
            return header.getKeySerializerSnapshot().restoreSerializer();
        }
    }
}
