from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
lines = env.read_text_file("file:///tmp/lines.txt")
lines.map(lambda line: line.upper(), Types.STRING()).key_by(lambda line: line).reduce(lambda a, b: a + b).print()
env.read_text_file("file:///tmp/other.txt", "ISO-8859-1").set_parallelism(3).uid("others").filter(len).print()
env.execute("lines")
