"""What the registry says of a resource of Flink's operator: a table of cases, and what is no review."""

from __future__ import annotations

import json
import time

import pytest
from msgspec.structs import replace

from compat.deployment.resources import STATE
from compat.service import gate
from compat.service.admission.judgement import MOST_TOLD, Outcome, judge
from compat.service.admission.reviews import LONGEST_WARNING, answer, read_review
from compat.service.records import Acceptance, Plan
from compat.service.registry.packing import canonical, digest_of, pack
from compat.service.registry.plans import PackedPlan
from compat.service.registry.savepoints import SeenSavepoint
from compat.service.untrusted import RefusedBody
from tests.compat.service.reviews import IMAGE, OTHER_IMAGE, changed, deployment, encoded, review, session_job
from tests.compat.service.running import plan
from tests.compat.service.test_registry import new_check, registry  # noqa: F401 - a fixture

ALLOWED, DENIED, UNDECIDED = Outcome.ALLOWED, Outcome.DENIED, Outcome.UNDECIDED
JOB = "word_count"
BY_IMAGE = f"registry.example/word-count@{IMAGE}"
BY_OTHER = f"registry.example/word-count@{OTHER_IMAGE}"


def ask(registry, new, old=None, **more):  # noqa: F811
    return judge(registry, read_review(encoded(review(new, old, **more))))


def packed(text, *names):
    """A plan of these operators, which differs from others by its text."""
    body = canonical(plan(*names) | {"job_name": text})
    described = Plan(digest=digest_of(body), job_name=text, flink="2.3", operators=len(names), size=len(body))
    return PackedPlan(described, pack(body))


def push(registry, job, text, names=("count", "sum"), **more):  # noqa: F811
    return registry.jobs.push(job, packed(text, *names), **{"commit": None, "author": None, "by": "me"} | more).version


def record(registry, old, new, verdict, accepted=(), job=JOB):  # noqa: F811
    """A check as the gate asks for it."""
    made = new_check(job, "", "", verdict)
    findings = [{"rule": "CMP103", "title": f"finding {number}", "level": "error"} for number in range(12)]
    return registry.checks.record(
        replace(
            made,
            old=replace(made.old, digest=old.plan.digest),
            new=replace(made.new, digest=new.plan.digest),
            sentence=f"{verdict}: {new.label} and {old.label}.",
            options=gate.gate_options(new, accepted).key,
            report=pack(
                json.dumps({"verdict": verdict, "findings": [] if verdict == "compatible" else findings}).encode()
            ),
            plans=(),
            accepted=accepted,
        ),
        kept=100,
    )


@pytest.fixture
def filled(registry):  # noqa: F811
    """A job whose first version runs; the second restores its state, the third does not, nobody looked at the fourth."""
    first, second, third, fourth, fifth = [
        push(registry, JOB, text, image=image)
        for text, image in (("1", IMAGE), ("2", OTHER_IMAGE), ("3", None), ("4", None), ("5", None))
    ]
    record(registry, first, second, "compatible")
    record(registry, first, third, "incompatible")
    record(registry, first, fifth, "unknown")
    registry.jobs.promote(JOB, 1, expected=None, by="ann", check=None)
    assert fourth.number == 4
    return registry


def version(number, **more):
    """A resource that says which version it is; each has a tag of its own."""
    return deployment(**{"image": f"registry.example/word-count:{number}", "job": JOB, "version": str(number)} | more)


RUNS = version(1)


def two_colours(resource):
    """The FlinkBlueGreenDeployment that has two of a deployment, of which one runs."""
    template = {"metadata": {"annotations": resource["metadata"]["annotations"]}, "spec": resource["spec"]}
    return {
        **resource,
        "kind": "FlinkBlueGreenDeployment",
        "metadata": {"name": "word-count"},
        "spec": {"template": template},
    }


def of_a_colour(resource):
    """A deployment that the operator makes for one of the two colours."""
    return changed(resource, "metadata", ownerReferences=[{"kind": "FlinkBlueGreenDeployment", "name": "word-count"}])


CASES = {
    "the version that runs": (version(1), None, ALLOWED, "word_count@1 runs"),
    "a good one": (version(2), RUNS, ALLOWED, "word_count@2 restores"),
    "a bad one": (version(3), RUNS, DENIED, "CMP103 finding 0"),
    "one that could not be decided": (version(5), RUNS, DENIED, "unknown: word_count@5"),
    "one that nobody checked": (version(4), RUNS, UNDECIDED, "compat check --job word_count"),
    "one that there is not": (version(9), RUNS, UNDECIDED, "no version 9"),
    "a job that there is not": (deployment(version="1", name="other"), None, UNDECIDED, "no job 'other'"),
    "nothing said": (deployment(), None, UNDECIDED, "stream-compat/version"),
    "as a label": (
        changed(deployment(), "metadata", labels={"stream-compat/job": JOB, "stream-compat/version": "3"}),
        RUNS,
        DENIED,
        "finding 0",
    ),
    "annotations win over labels": (
        changed(version(2), "metadata", labels={"stream-compat/version": "3"}),
        RUNS,
        ALLOWED,
        "word_count@2",
    ),
    "as one name": (deployment(version="word_count@3"), RUNS, DENIED, "finding 0"),
    "as two names": (deployment(job="x", version="word_count@3"), RUNS, DENIED, "'x'"),
    "no number": (deployment(job=JOB, version="latest"), RUNS, DENIED, "'latest'"),
    "no name": (deployment(job="<b>", version="1"), RUNS, DENIED, "no job is called so"),
    "by image, the one that runs": (deployment(BY_IMAGE), None, ALLOWED, "word_count@1"),
    "by image, a good one": (deployment(BY_OTHER), deployment(BY_IMAGE), ALLOWED, "word_count@2 restores"),
    "by image, a bad way back": (deployment(BY_IMAGE), deployment(BY_OTHER), UNDECIDED, "word_count@2"),
    "an image that was never pushed": (deployment("x@sha256:" + "3" * 64), None, UNDECIDED, "push --image"),
    "an image that says another version": (
        version(3, image=BY_IMAGE),
        RUNS,
        DENIED,
        "its image is that of word_count@1",
    ),
    "another image of a version": (
        version(2, image="x@sha256:" + "3" * 64),
        RUNS,
        UNDECIDED,
        "pushed with another image",
    ),
    "an image whose jar is from elsewhere": (
        deployment(BY_OTHER, jarURI="https://jars.example/job.jar"),
        RUNS,
        UNDECIDED,
        "does not say which version",
    ),
    "an image of the settings": (
        changed(deployment(""), "spec", flinkConfiguration={"kubernetes.container.image.ref": BY_OTHER}),
        RUNS,
        ALLOWED,
        "word_count@2",
    ),
    "a session cluster": (changed(deployment(), "spec", job=None), None, ALLOWED, "No job"),
    "a session job": (
        session_job("3", job=JOB, version="3"),
        session_job("1", job=JOB, version="1"),
        DENIED,
        "finding 0",
    ),
    "a session job that says nothing": (session_job(), None, UNDECIDED, "stream-compat/version"),
    "stateless": (version(3, upgradeMode="stateless"), RUNS, ALLOWED, "stateless"),
    "stateless by default": (version(3, upgradeMode=None), RUNS, ALLOWED, "stateless"),
    "stateless, from a savepoint": (
        version(2, upgradeMode="stateless", initialSavepointPath="s3://x/y"),
        None,
        UNDECIDED,
        "s3://x/y",
    ),
    "last state": (version(3, upgradeMode="last-state"), RUNS, DENIED, "finding 0"),
    "a mode that there is not": (version(1, upgradeMode="maybe"), RUNS, DENIED, "maybe"),
    "only the status changed": (
        changed(version(3), "status", lifecycleState="FAILED"),
        version(3),
        ALLOWED,
        "stays as it is",
    ),
    "it is to be suspended": (version(3, state="suspended"), version(3), ALLOWED, "suspended"),
    "it is changed while suspended": (version(3, state="suspended"), RUNS, DENIED, "finding 0"),
    "it is scaled": (version(3, parallelism=4), version(3), DENIED, "finding 0"),
    "it goes": (changed(version(3), "metadata", deletionTimestamp="2026-03-01T10:00:00Z"), RUNS, ALLOWED, "No job"),
    "it is gone": (None, version(3), ALLOWED, "DELETE"),
    "another kind": ({"apiVersion": "v1", "kind": "Pod", "metadata": {}}, None, ALLOWED, "Pod of the core"),
    "no resource": (changed(RUNS, spec=3), None, DENIED, "no resource of Flink's operator"),
    "what was there says nothing": (version(2), deployment(), UNDECIDED, "kubectl annotate"),
    "what was there is of another job": (version(2), deployment(version="other@1"), UNDECIDED, "no job 'other'"),
    "what was there is a version that there is not": (version(2), version(9), UNDECIDED, "no version 9"),
    "what was there cannot be read": (version(2), changed(RUNS, spec=3), UNDECIDED, "cannot be read"),
    "what was there had no job": (version(2), changed(RUNS, "spec", job=None), ALLOWED, "word_count@2 restores"),
    "what was there is given a name": (
        version(1),
        changed(version(1), "metadata", annotations={}),
        ALLOWED,
        "stays as it is",
    ),
    "the name alone changes": (
        changed(version(1), "metadata", annotations={"stream-compat/version": "word_count@3"}),
        version(1),
        UNDECIDED,
        "cannot be word_count@3",
    ),
    "another jar, by its digest": (
        version(2, digest=OTHER_IMAGE, jarURI="https://jars.example/2.jar"),
        version(2, digest=OTHER_IMAGE, jarURI="https://jars.example/1.jar"),
        ALLOWED,
        "word_count@2",
    ),
    "another jar and image and init container, by the digest of the version that runs": (
        changed(
            version(1, digest=IMAGE, jarURI="https://mirror.example/1.jar", image="other:2"),
            "spec",
            podTemplate={"spec": {"initContainers": [{"name": "fetch", "command": ["wget"]}]}},
        ),
        version(1, jarURI="https://jars.example/1.jar"),
        ALLOWED,
        "word_count@1 runs",
    ),
    "another jar, by a digest that is not that version's": (
        version(1, digest=OTHER_IMAGE, jarURI="https://mirror.example/1.jar"),
        version(1, jarURI="https://jars.example/1.jar"),
        DENIED,
        "its image is that of word_count@2",
    ),
    "a digest that nobody pushed": (
        version(2, digest=f"sha256:{'9' * 64}"),
        RUNS,
        UNDECIDED,
        "pushed with another image",
    ),
    "a digest of a version that was pushed without one": (
        version(3, digest=f"sha256:{'9' * 64}"),
        RUNS,
        UNDECIDED,
        "pushed without one",
    ),
    "a digest that is none": (version(1, digest="sha256:1"), RUNS, DENIED, "sha256: and 64 digits"),
    "other arguments of the same artifact": (
        version(1, digest=IMAGE, args=["--other"]),
        version(1, digest=IMAGE),
        UNDECIDED,
        "args changed",
    ),
    "a digest says which version it is": (
        deployment(job=JOB, digest=OTHER_IMAGE),
        RUNS,
        ALLOWED,
        "word_count@2 restores",
    ),
    "a digest of one version, and the image of another": (
        version(1, digest=IMAGE, image=BY_OTHER),
        version(1, digest=IMAGE),
        DENIED,
        "its image is that of word_count@2",
    ),
    "a canary of the operator's": (
        {"apiVersion": "flink.apache.org/v1beta1", "kind": "FlinkDeployment", "metadata": {"name": "canary"}},
        None,
        ALLOWED,
        "No job",
    ),
    "two colours, a bad one": (two_colours(version(3)), two_colours(RUNS), DENIED, "finding 0"),
    "two colours, a good one": (two_colours(version(2)), two_colours(RUNS), ALLOWED, "word_count@2 restores"),
    "the other colour, from a savepoint of a moment ago": (
        of_a_colour(version(3, initialSavepointPath="s3://s/9")),
        None,
        DENIED,
        "finding 0",
    ),
    "the other colour, a good one": (
        of_a_colour(version(2, initialSavepointPath="s3://s/9")),
        None,
        ALLOWED,
        "word_count@2 restores",
    ),
    "the cluster has another one than the registry": (version(2), version(4), UNDECIDED, "state of word_count@4"),
    "a first start from a savepoint": (version(2, initialSavepointPath="file:///s/1"), None, UNDECIDED, "/s/1"),
    "a savepoint that was for the first start": (
        version(2, initialSavepointPath="/s/1"),
        RUNS,
        ALLOWED,
        "word_count@2",
    ),
    "another start from a savepoint": (
        version(2, initialSavepointPath="/s/1", savepointRedeployNonce=2),
        version(2, initialSavepointPath="/s/1", savepointRedeployNonce=1),
        UNDECIDED,
        "/s/1",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_the_registry_says(filled, name):
    new, old, outcome, says = CASES[name]
    found = ask(filled, new, old)
    assert found.outcome is outcome, found
    assert says in found.message


def test_a_refusal_names_findings_and_where_to_read_more(filled):
    found = ask(filled, version(3), RUNS)
    assert found.message.startswith("incompatible: word_count@3 and word_count@1.")
    assert (found.message.count("CMP103"), found.version) == (MOST_TOLD, "word_count@3")
    assert f"and 2 more. It is check {found.check} of the registry." in found.message


def test_a_job_that_nothing_runs_of_starts(registry):  # noqa: F811
    push(registry, JOB, "1")
    assert ask(registry, version(1)).outcome is ALLOWED


def test_what_was_accepted_is_let_pass_and_told(filled):
    given = (Acceptance(fingerprint="f", rule="CMP103", title="count moves", reason="agreed", by="ann"),)
    old, new = filled.jobs.version(JOB, 1), filled.jobs.version(JOB, 3)
    record(filled, old, new, "compatible", given)
    found = ask(filled, version(3), RUNS)
    assert found.outcome is ALLOWED
    assert found.warnings == ("let pass: CMP103 count moves (agreed; ann)",)


def test_a_check_with_options_of_its_own_decides_nothing(filled):
    old, new = filled.jobs.version(JOB, 1), filled.jobs.version(JOB, 4)
    made = record(
        filled, old, new, "compatible", (Acceptance(fingerprint="f", rule="", title="", reason="r", by=""),), None
    )
    assert made.passed
    assert ask(filled, version(4), RUNS).outcome is UNDECIDED


def test_what_was_forced_passes_once_and_is_told(filled):
    filled.jobs.promote(JOB, 3, expected=1, by="ann", check=None, reason="a fresh start")
    found = ask(filled, version(3), RUNS)
    assert found.outcome is ALLOWED
    assert found.warnings == ("word_count@3 was forced by ann: a fresh start",)
    assert ask(filled, version(3), version(5)).outcome is UNDECIDED


def test_a_promotion_that_passed_and_was_then_deployed(filled):
    filled.jobs.promote(JOB, 2, expected=1, by="ann", check=1)
    assert ask(filled, version(2), RUNS).outcome is ALLOWED
    assert ask(filled, version(1), version(2)).outcome is UNDECIDED


FORMER_KEY = {"execution.savepoint.ignore-unclaimed-state": "true"}
ROCKSDB, HEAP = {"state.backend.type": "rocksdb"}, {"state.backend.type": "hashmap"}


def upgrade(mode, settings=None, **job):
    """A good upgrade from the version that runs, in this mode."""
    return changed(version(2, upgradeMode=mode, **job), "spec", flinkConfiguration=settings or {})


def running(settings):
    return changed(RUNS, "spec", flinkConfiguration=settings)


FETCHES = {"spec": {"initContainers": [{"name": "fetch", "image": "curl", "args": ["https://jars.example/other.jar"]}]}}
LARGER = {
    "spec": {"containers": [{"name": "flink-main-container", "image": "other:1", "resources": {"limits": {"cpu": 2}}}]}
}


@pytest.mark.parametrize(
    ("new", "says"),
    [
        (version(1, args=["--topic", "other"]), "args changed"),
        (version(1, entryClass="example.Other"), "entryClass changed"),
        (version(1, jarURI="https://jars.example/other.jar"), "jarURI changed"),
        (version(1, image="registry.example/word-count:latest"), "image changed"),
        (version(1, image=BY_IMAGE), None),  # it was pushed with that image
        (changed(RUNS, "spec", podTemplate=FETCHES), "what brings code changed"),
        (changed(RUNS, "spec", "jobManager", podTemplate=FETCHES), "what brings code changed"),
        (changed(RUNS, "spec", "taskManager", podTemplate=LARGER), None),
        (changed(RUNS, "spec", jobManager={"resource": {"memory": "4096m"}}), None),
        (
            changed(RUNS, "spec", flinkConfiguration={"user.artifacts.artifact-list": "https://x/y.jar"}),
            "what brings code",
        ),
        (changed(RUNS, "spec", flinkConfiguration={"pipeline": {"jars": "https://x/y.jar"}}), "what brings code"),
        (changed(RUNS, "spec", flinkConfiguration={"taskmanager.numberOfTaskSlots": "4"}), None),
        (version(2, args=[]), None),  # another version is another program
    ],
)
def test_other_code_under_the_name_of_the_version_that_runs_is_not_known(filled, new, says):
    found = ask(filled, new, RUNS)
    assert found.outcome is (ALLOWED if says is None else UNDECIDED), found
    assert (says or "") in found.message


MAX_64, MAX_128 = {"pipeline.max-parallelism": "64"}, {"pipeline.max-parallelism": 128}
STATE_TTL = {"table.exec.state.ttl": "1 h"}


@pytest.mark.parametrize(
    ("new", "old", "outcome", "says"),
    [
        (upgrade("savepoint", MAX_64), running(MAX_128), DENIED, "CMP301"),
        (changed(RUNS, "spec", flinkConfiguration=MAX_64), running(MAX_128), DENIED, "CMP301"),
        (upgrade("savepoint", MAX_64), running({}), DENIED, "CMP301"),
        (upgrade("savepoint", MAX_128), running({}), ALLOWED, "word_count@2"),
        (upgrade("savepoint", MAX_64), running(MAX_64), ALLOWED, "word_count@2"),
        (upgrade("savepoint", MAX_64, parallelism=64), running(MAX_64), ALLOWED, "word_count@2"),
        (upgrade("savepoint", MAX_64, parallelism=65), running(MAX_64), DENIED, "CMP302"),
        (upgrade("savepoint", parallelism=300), running({}), DENIED, "CMP302"),
        (upgrade("savepoint", {"pipeline.max-parallelism": "9" * 5000}), running({}), DENIED, "a number above 0"),
        (upgrade("savepoint", {"pipeline.max-parallelism": "many"}), running({}), DENIED, "says 'many'"),
        (upgrade("savepoint", {"pipeline.max-parallelism": -1}), running({}), ALLOWED, "word_count@2"),
        (upgrade("savepoint", STATE_TTL), running({}), UNDECIDED, "-D table.exec.state.ttl"),
        (upgrade("savepoint", {"pipeline.name": "a"}), running({}), ALLOWED, "word_count@2"),
        (upgrade("last-state", ROCKSDB), running(HEAP), DENIED, "from hashmap to rocksdb"),
        (
            changed(version(1, state="suspended"), "spec", flinkConfiguration=MAX_64),
            running(MAX_128),
            DENIED,
            "CMP301",
        ),
    ],
)
def test_settings_of_the_two_deployments_are_checked(filled, new, old, outcome, says):
    found = ask(filled, new, old)
    assert found.outcome is outcome, found
    assert says in found.message


def test_the_job_of_the_cluster_is_that_of_the_registry(filled):
    push(filled, "other", "x")
    found = ask(filled, version(2), deployment(version="other@1"))
    assert (found.outcome, "word_count@2 is of another job" in found.message) == (UNDECIDED, True)


def test_a_name_that_is_given_to_what_runs_is_taken_on_trust_and_told(filled):
    found = ask(filled, RUNS, changed(RUNS, "metadata", annotations={}))
    assert (found.outcome, found.warnings) == (
        ALLOWED,
        ("word-count is taken for word_count@1 from now on, on your word.",),
    )


@pytest.mark.parametrize(
    ("new", "old", "says"),
    [
        (upgrade("savepoint"), RUNS, []),
        (upgrade("savepoint", allowNonRestoredState=False), RUNS, []),
        (upgrade("savepoint", allowNonRestoredState=True), RUNS, ["Flink drops without an error"]),
        (upgrade("savepoint", FORMER_KEY), RUNS, ["Flink drops without an error"]),
        (
            upgrade("savepoint", {"execution.state-recovery.ignore-unclaimed-state": True}),
            RUNS,
            ["Flink drops without"],
        ),
        (upgrade("savepoint", FORMER_KEY, allowNonRestoredState=False), RUNS, []),
        (upgrade("stateless", allowNonRestoredState=True), RUNS, ["without the state that it had"]),
        (upgrade("stateless"), None, []),
        (upgrade("last-state"), RUNS, ["from its last checkpoint"]),
        (upgrade("last-state", allowNonRestoredState=True), RUNS, ["last checkpoint", "not heeded"]),
        (upgrade("last-state", {"state.backend": "filesystem"}), running(HEAP), ["last checkpoint"]),
        (upgrade("last-state", ROCKSDB), running({}), ["last checkpoint"]),
        (upgrade("savepoint", ROCKSDB), running(HEAP), []),
        (upgrade("last-state"), None, []),
    ],
)
def test_what_the_way_of_an_upgrade_puts_at_risk_is_told(filled, new, old, says):
    found = ask(filled, new, old)
    assert found.outcome is ALLOWED
    assert len(found.warnings) == len(says), found.warnings
    for warning, part in zip(found.warnings, says, strict=True):
        assert part in warning
        assert warning.startswith("word-count: ")
        assert len(warning) <= LONGEST_WARNING


def test_a_refusal_too_says_what_else_is_at_risk(filled):
    found = ask(filled, version(3, upgradeMode="last-state"), RUNS)
    assert found.outcome is DENIED
    assert "last checkpoint" in found.warnings[0]


def test_an_image_of_several_versions_takes_a_name(filled):
    push(filled, JOB, "6", image=IMAGE)
    found = ask(filled, deployment(BY_IMAGE))
    assert (found.outcome, "holds word_count@1, word_count@6" in found.message) == (UNDECIDED, True)
    assert ask(filled, version(1, image=BY_IMAGE)).outcome is ALLOWED
    push(filled, JOB, "6", image=OTHER_IMAGE)
    push(filled, "other", "x", image=OTHER_IMAGE)
    found = ask(filled, deployment(BY_OTHER, name="third"))
    assert "holds versions of other, word_count" in found.message
    assert ask(filled, deployment(BY_OTHER, name="other")).version == "other@1"


def test_the_same_plan_in_two_images_is_the_same_version_to_restore(filled):
    image = "sha256:" + "4" * 64
    rebuilt = push(filled, JOB, "1", image=image)
    assert rebuilt.number == 6
    assert ask(filled, deployment(f"x@{image}"), deployment(BY_IMAGE)).outcome is ALLOWED


def checked_savepoint(filled, verdict="compatible", inspection=None):
    """A savepoint at /s/1 that the second version was checked against."""
    filled.savepoints.put(
        SeenSavepoint(
            id="a" * 32,
            path="/s/1",
            kind="flink",
            job=None,
            status="ok",
            error=None,
            checkpoint=1,
            operators=1,
            size=1,
            modified_at=0,
            fingerprint="f",
            inspection=inspection,
        )
    )
    wanted = filled.jobs.version(JOB, 2)
    made = new_check(None, "", "", verdict)
    filled.checks.record(
        replace(
            made,
            old=replace(made.old, digest=None, kind="savepoint", savepoint="a" * 32),
            new=replace(made.new, digest=wanted.plan.digest),
            options=gate.gate_options(wanted).key,
            report=pack(b'{"findings": []}'),
            plans=(),
        ),
        kept=100,
    )


@pytest.mark.parametrize(
    ("verdict", "later", "outcome"),
    [("compatible", 1, ALLOWED), ("incompatible", 1, DENIED), ("compatible", -1, UNDECIDED)],
)
def test_a_start_from_a_savepoint_goes_by_a_check_of_it(filled, verdict, later, outcome):
    checked_savepoint(filled, verdict)
    with filled.database.write() as connection:
        connection.exec_driver_sql("UPDATE checks SET at = ?", (time.time() + 100 * later,))
    assert ask(filled, version(2, initialSavepointPath="file:/s/1/")).outcome is outcome


@pytest.mark.parametrize(
    ("kept", "asked", "outcome", "says"),
    [
        ("1", "1", ALLOWED, "word_count@2 restores /s/1, sha256:111"),
        ("1", None, ALLOWED, "word_count@2 restores /s/1, sha256:111"),
        ("1", "2", DENIED, "what is there has sha256:111"),
        (None, "2", DENIED, "what is there has none that the service knows"),
        (None, None, ALLOWED, "word_count@2 restores /s/1."),
    ],
)
def test_a_start_from_a_savepoint_is_from_the_one_that_was_checked(filled, kept, asked, outcome, says):
    """By the digest that the migration told."""
    inspection = None if kept is None else pack(json.dumps({"digest": f"sha256:{kept * 64}"}).encode())
    checked_savepoint(filled, inspection=inspection)
    new = version(2, initialSavepointPath="/s/1")
    if asked is not None:
        new["metadata"]["annotations"][STATE] = f"sha256:{asked * 64}"
    judged = ask(filled, new)
    assert judged.outcome is outcome
    assert says in judged.message


def test_a_digest_that_is_none_is_told(filled):
    new = version(2, initialSavepointPath="/s/1")
    new["metadata"]["annotations"][STATE] = "latest"
    judged = ask(filled, new)
    assert (judged.outcome, "it is the digest of a savepoint" in judged.message) == (DENIED, True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "no AdmissionReview"),
        (b"[]", "no AdmissionReview"),
        (b"{}", "no AdmissionReview"),
        (b'{"apiVersion": 1, "kind": "AdmissionReview"}', "no AdmissionReview"),
        (b'{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}', "holds no request"),
        (encoded(review(RUNS) | {"apiVersion": "admission.k8s.io/v1beta1"}), "admissionReviewVersions"),
        (encoded(review(RUNS, uid="")), "holds no request"),
        (encoded(review(RUNS, operation="PATCH")), "no AdmissionReview"),
        (b"[" * 200 + b"]" * 200, "nested deeper"),
        (b'{"request": ' * 5000 + b"1" + b"}" * 5000, "nested deeper"),
    ],
)
def test_what_is_no_review_is_told(text, says):
    with pytest.raises(RefusedBody, match=says):
        read_review(text)


def test_an_answer_has_the_shape_that_the_api_server_reads():
    allowed = json.loads(answer("u", True, "fine", ("w" * 1000,), {"version": "a@1"}))
    assert (allowed["apiVersion"], allowed["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response = allowed["response"]
    assert (response["uid"], response["allowed"], response["auditAnnotations"]) == ("u", True, {"version": "a@1"})
    assert [len(warning) for warning in response["warnings"]] == [LONGEST_WARNING]
    refused = json.loads(answer("u", False, "no"))["response"]
    assert refused["status"] == {"status": "Failure", "code": 403, "reason": "Forbidden", "message": "no"}
