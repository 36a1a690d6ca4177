"""Family 3: parallelism and key groups."""

from __future__ import annotations

from compat.check.findings import Level
from compat.check.rules.texts.model import RuleInfo

RULES = (
    RuleInfo(
        id="CMP301",
        name="max-parallelism",
        level=Level.ERROR,
        summary="The max parallelism set in NEW differs from the recorded one.",
        why="Keyed state is stored by key group, and the max parallelism is the number of key groups. With another "
        "number every key would lie elsewhere. Flink refuses the restore, for stateless operators too.",
        old="env.set_max_parallelism(128)",
        new="env.set_max_parallelism(256)",
        fix="Set the recorded max parallelism again, or do not set it: then Flink takes the recorded one.",
    ),
    RuleInfo(
        id="CMP302",
        name="parallelism-above-max",
        level=Level.ERROR,
        summary="The parallelism of NEW exceeds the recorded max parallelism.",
        why="A subtask needs at least one key group, and there are only as many as the max parallelism of the job "
        "that wrote the state.",
        old="env.set_max_parallelism(4)\nenv.set_parallelism(4)",
        new="env.set_parallelism(8)",
        fix="Lower the parallelism to the recorded max parallelism. To go beyond it, the state has to be written anew "
        "(Flink's State Processor API).",
    ),
    RuleInfo(
        id="CMP303",
        name="mixed-max-parallelism-in-chain",
        level=Level.ERROR,
        summary="Operators of one vertex with keyed state recorded different max parallelism.",
        why="A vertex has one max parallelism for all its operators. Released Flink up to 2.3.0 then takes one of the "
        "recorded values for all (FLINK-40113), be it that of an operator without state, and cuts the key groups of the "
        "others wrongly: Flink restores this without an error.",
        old='a.process(F()).uid("f").set_max_parallelism(64)\nb.process(G()).uid("g").set_max_parallelism(128)',
        new='both keyed operators "f" and "g" in one chain',
        fix="Keep operators with different recorded max parallelism in different chains: .start_new_chain() on the "
        "second.",
    ),
    RuleInfo(
        id="CMP304",
        name="derived-max-parallelism",
        level=Level.WARNING,
        summary="The max parallelism is derived from the parallelism.",
        why="Where none is set, Flink derives it: 1.5 times the parallelism, rounded up to a power of two, at least "
        "128. The first savepoint fixes it, and with it how far the job can ever scale.",
        old="env.set_parallelism(4)",
        new="env.set_parallelism(4)\nenv.set_max_parallelism(720)",
        fix="Set the max parallelism before the first start: a number with many divisors, well above what will be "
        "needed. On a job with state, set the recorded one.",
    ),
)
