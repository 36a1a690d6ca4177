from pyflink.common import ExecutionMode, InputDependencyConstraint, RestartStrategies, Types
from pyflink.datastream import (
    ExternalizedCheckpointCleanup,
    FsStateBackend,
    MemoryStateBackend,
    RocksDBStateBackend,
    StreamExecutionEnvironment,
    TimeCharacteristic,
)

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
env.enable_checkpointing(1000)
env.set_stream_time_characteristic(TimeCharacteristic.EventTime)
env.set_state_backend(MemoryStateBackend(max_state_size=1024))
env.set_state_backend(FsStateBackend("file:///tmp/checkpoints", file_state_size_threshold=10))
env.set_state_backend(RocksDBStateBackend("file:///tmp/checkpoints", True))
env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 1000))
checkpoints = env.get_checkpoint_config()
checkpoints.enable_externalized_checkpoints(ExternalizedCheckpointCleanup.RETAIN_ON_CANCELLATION)
checkpoints.set_checkpoint_storage_dir("file:///tmp/checkpoints")
config = env.get_config()
config.set_execution_mode(ExecutionMode.BATCH)
config.set_default_input_dependency_constraint(InputDependencyConstraint.ALL)
config.disable_auto_type_registration()
config.register_kryo_type("java.util.BitSet")
numbers = env.from_collection([1, 2, 3], Types.INT())
numbers.key_by(lambda number: number % 2).sum().print()
env.execute("settings")
