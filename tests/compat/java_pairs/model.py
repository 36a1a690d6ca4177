"""Two versions of a job in Java, and what the check says of them."""

from __future__ import annotations

from hashlib import sha256

from msgspec import Struct

OK, WRONG, MIGRATES = "compatible", "incompatible", "compatible-with-migration"
IMPORTS = """
import java.io.IOException;
import java.time.Duration;
import java.util.*;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.*;
import org.apache.flink.api.common.state.*;
import org.apache.flink.api.common.serialization.SerializerConfig;
import org.apache.flink.api.common.typeinfo.*;
import org.apache.flink.api.common.typeutils.*;
import org.apache.flink.api.common.typeutils.base.TypeSerializerSingleton;
import org.apache.flink.api.connector.source.*;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.cep.*;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.connector.file.src.reader.TextLineInputFormat;
import org.apache.flink.core.fs.Path;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.core.memory.*;
import org.apache.flink.runtime.state.*;
import org.apache.flink.streaming.api.TimerService;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.*;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.*;
import org.apache.flink.streaming.api.functions.async.*;
import org.apache.flink.streaming.api.functions.co.*;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.source.legacy.SourceFunction;
import org.apache.flink.streaming.api.functions.windowing.*;
import org.apache.flink.streaming.api.operators.*;
import org.apache.flink.streaming.api.windowing.assigners.*;
import org.apache.flink.streaming.api.windowing.evictors.*;
import org.apache.flink.streaming.api.windowing.triggers.*;
import org.apache.flink.streaming.api.windowing.windows.*;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.util.Collector;
"""


class JavaPair(Struct, frozen=True, kw_only=True):
    """A pair: the bodies of both ``main`` methods, and the classes beside them.

    ``env`` and ``s``, a stream of longs with the uid ``source``, are there. ``rules`` are those that speak, but for notes and
    CMP104. Classes ``beside`` stand outside of that of the program.
    """

    name: str
    old: str
    new: str
    classes: str = ""
    old_classes: str = ""
    new_classes: str = ""
    old_beside: str = ""
    new_beside: str = ""
    verdict: str = OK
    rules: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def class_name(self) -> str:
        """The class of both programs."""
        return "".join(part.capitalize() for part in self.name.split("_"))

    def source(self, side: str) -> str:
        """The program of one side."""
        body = self.old if side == "old" else self.new
        classes = self.classes + (self.old_classes if side == "old" else self.new_classes)
        beside = self.old_beside if side == "old" else self.new_beside
        return f"""package pairs;
{IMPORTS}
public class {self.class_name} extends Parts {{
public static void main(String[] arguments) throws Exception {{
  StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
  DataStream<Long> s = longs(env, "numbers").uid("source");
{body}
  env.execute();
}}
{classes}
}}
{beside}
"""


def digest(pairs: list[JavaPair], parts: str) -> str:
    """A digest of all programs: that of the jars that were made of them."""
    texts = [parts, *(pair.source(side) for pair in pairs for side in ("old", "new"))]
    return sha256("\n".join(texts).encode()).hexdigest()
