"""Family 1: which operator of the new job gets the state of which operator of the old one."""

from __future__ import annotations

from compat.check.findings import Level
from compat.check.rules.texts.model import RuleInfo

RULES = (
    RuleInfo(
        id="CMP101",
        name="state-without-operator",
        level=Level.ERROR,
        summary="State of an operator of OLD has no operator in NEW to go to.",
        why="A restore looks for every operator id of the savepoint in the new job, among the generated ids, the "
        "uids' hashes and the user hashes. State that nobody claims makes Flink refuse the whole restore. Keyed "
        "PyFlink operators always have state, their timer queues, even if the function keeps none.",
        old='keyed.process(Count()).uid("count")',
        new="# the operator was removed",
        fix="Keep the operator, or give its successor the same uid. If the state may go, restore with -n "
        "(--allowNonRestoredState) and check with -n.",
        when="warning with -n: the state is dropped on purpose",
    ),
    RuleInfo(
        id="CMP102",
        name="operator-moved",
        level=Level.ERROR,
        summary="An operator is still there, but its generated id has moved.",
        why="Without a uid, an operator's id is computed from its position in the graph, the outputs chained to it "
        "and the ids of its inputs. An edit elsewhere changes it, and the state under the old id finds nobody.",
        old="source.key_by(key).process(Count())",
        new="source.rebalance().filter(good).rebalance().key_by(key).process(Count())",
        fix='Pin the old id on the new operator, .set_uid_hash("<old id>"), and give a uid to each stateful operator '
        "of the next job that starts without old state.",
    ),
    RuleInfo(
        id="CMP103",
        name="state-to-another-operator",
        level=Level.ERROR,
        summary="An id of OLD belongs to another operator in NEW, which would get state that is not its own.",
        why="A generated id knows where an operator stands, not what it is. When two alike branches change places, "
        "each gets the other's state: Flink restores this without an error and the results are wrong from then "
        "on.",
        old='s.key_by(four).process(Count()).name("by four")\ns.key_by(three).process(Count()).name("by three")',
        new='s.key_by(three).process(Count()).name("by three")\ns.key_by(four).process(Count()).name("by four")',
        fix='Pin each operator to its own old id with .set_uid_hash("<old id>"), or restore the old order. If a uid '
        "was given to another operator, choose a new uid for it.",
    ),
    RuleInfo(
        id="CMP104",
        name="stateful-without-uid",
        level=Level.WARNING,
        summary="Stateful operators of NEW have generated ids.",
        why="The next edit of the job can move a generated id, and with it the state out of reach. An id from a uid "
        "stays through any edit.",
        old="keyed.process(Count())",
        new='keyed.process(Count()).uid("count")',
        fix="Give each stateful operator a uid, unique in the job. On a job that already has state, a uid changes the "
        "id too: add the uid for a start without old state, or pin the present id with .set_uid_hash.",
    ),
    RuleInfo(
        id="CMP105",
        name="duplicate-uid",
        level=Level.ERROR,
        summary="Two operators of a job have the same uid.",
        why="The id is the hash of the uid, so both would have the same id. Flink refuses the job: hash collision on "
        "a user-specified ID.",
        old='a.map(f).uid("clean")\nb.map(g).uid("tidy")',
        new='a.map(f).uid("clean")\nb.map(g).uid("clean")',
        fix="Give one of the two another uid: the one whose state is not needed, or that has none.",
    ),
    RuleInfo(
        id="CMP106",
        name="user-hash-shadows",
        level=Level.ERROR,
        summary="OLD has state under both the generated id and the user hash of one operator of NEW.",
        why="At a restore the user hash wins if there is state under it, and what lies under the operator's own id is "
        "then left without an operator.",
        old='keyed.process(Count()).uid("count")\nother.process(Sum()).uid("sum")',
        new='keyed.process(Count()).uid("count").set_uid_hash("<id of sum>")',
        fix="Take the user hash away from the operator, or put it on the operator whose state lies under it.",
    ),
    RuleInfo(
        id="CMP107",
        name="state-starts-empty",
        level=Level.WARNING,
        summary="A stateful operator of NEW finds no state in OLD.",
        why="That is right for an operator that is really new. For one that was there before it means that its id "
        "changed and that it starts from nothing.",
        old="keyed.process(Count())",
        new='keyed.process(Count())\nkeyed.process(Alert()).uid("alert")',
        fix='Nothing if the operator is new. Otherwise pin it to its old id with .set_uid_hash("<old id>").',
    ),
    RuleInfo(
        id="CMP108",
        name="unstable-id",
        level=Level.ERROR,
        summary="Building the same program twice gives different operator ids.",
        why="An id that is drawn at random, or follows the order of a set, is another one at the next start. No "
        "savepoint of this job can be restored, not even by the same program.",
        old="stream.map(f).uid(str(uuid4()))",
        new='stream.map(f).uid("clean")',
        fix="Write uids as constants, and build the job in an order that does not depend on sets or hashes.",
    ),
    RuleInfo(
        id="CMP109",
        name="invalid-user-hash",
        level=Level.ERROR,
        summary="A user hash is not 32 hexadecimal digits.",
        why="A user hash stands for an operator id, which has 16 bytes. Flink refuses anything else.",
        old='stream.map(f).set_uid_hash("clean")',
        new='stream.map(f).set_uid_hash("cbc357ccb763df2852fee8c4fc7d55f2")',
        fix="Copy the operator id from the report, from a savepoint (compat inspect) or from Flink's log; for a name "
        "of your own use .uid instead.",
    ),
    RuleInfo(
        id="CMP110",
        name="uid-lost-in-merging",
        level=Level.WARNING,
        summary="A uid was given to an operator that PyFlink merges into the one before it.",
        why="PyFlink melts neighbouring Python operators into one, which keeps the uid of the first. The uid of the "
        "second is dropped without a word, and an id that older savepoints list may vanish with it.",
        old='keyed.process(Count()).uid("count").map(show)',
        new='keyed.process(Count()).uid("count").map(show).uid("show")',
        fix="Remove the uid that has no effect, or keep the operators apart with .disable_chaining() or "
        ".start_new_chain() on the second.",
    ),
    RuleInfo(
        id="CMP111",
        name="state-claimed-twice",
        level=Level.ERROR,
        summary="Several operators of NEW have an id for the same state of OLD.",
        why="A user hash may name any operator of OLD, one whose uid or generated id another operator of NEW has as well, or "
        "whose hash another one was given, by a line that was copied. Flink hands each state out once, to the operator that "
        "it comes to first, in no order that can be told; the others start from what is under their own id, or from nothing.",
        old='keyed.process(Count()).uid("count")',
        new='keyed.process(Count()).uid("count")\nother.process(Count()).uid("other").set_uid_hash("<id of count>")',
        fix="Take the user hash away from the operator that the state is not meant for, or give that one another uid.",
    ),
)
