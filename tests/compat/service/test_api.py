"""The API, one resource after the other."""

from __future__ import annotations

import httpx
import jsonschema
import pytest

from compat import schemas
from compat.check.catalogue import RULES
from tests.compat.service.running import OLD, RENUMBERED, plan


def test_a_version_is_registered_and_found_again(service, job):
    pushed = service.push(job, *OLD, commit="abc", author="Ada")
    assert pushed.status_code == 201
    version = pushed.json()
    assert (version["number"], version["commit"], version["author"], version["pushed_by"]) == (
        1,
        "abc",
        "Ada",
        "a push",
    )
    client = service.client("read")
    assert client.get(f"/jobs/{job}/versions").json() == {"versions": [version]}
    assert client.get(f"/jobs/{job}/versions/1").json() == version
    assert client.get(f"/jobs/{job}/versions/1/plan").json() == plan(*OLD)
    assert client.get(f"/jobs/{job}").json()["versions"] == 1


def test_pushing_the_newest_again_changes_nothing(service, job):
    first = service.push(job, *OLD, commit="abc")
    again = service.push(job, *OLD, commit="abc")
    assert (again.status_code, again.json()) == (200, first.json())
    assert service.push(job, *OLD, commit="abd").json()["number"] == 2


def test_the_gate(service, job):
    service.push(job, *OLD)
    first = service.promote(job)
    assert first.json() == {
        "promotion": first.json()["promotion"] | {"number": 1, "check": None, "forced": False},
        "check": None,
    }
    service.push(job, *RENUMBERED)
    refused = service.promote(job)
    assert refused.status_code == 409
    assert refused.json()["check"]["verdict"] == "incompatible"
    assert {"CMP101", "CMP102", "CMP103"} & {finding["rule"] for finding in refused.json()["report"]["findings"]}
    assert service.client().get(f"/jobs/{job}").json()["current"]["number"] == 1
    service.push(job, *OLD, commit="back")
    assert service.promote(job).json()["promotion"]["number"] == 3


def test_only_an_admin_forces_and_says_why(service, job):
    service.push(job, *OLD)
    service.promote(job)
    service.push(job, *RENUMBERED)
    assert service.promote(job, force=True, reason="a fresh start").status_code == 403
    assert service.promote(job, "admin", force=True).status_code == 422
    forced = service.promote(job, "admin", force=True, reason="a fresh start").json()
    assert forced["promotion"]["forced"]
    assert [each["forced"] for each in service.client().get(f"/jobs/{job}/versions").json()["versions"]] == [
        True,
        False,
    ]
    assert forced["check"]["verdict"] == "incompatible"
    history = service.client().get(f"/jobs/{job}/promotions").json()["promotions"]
    assert [(one["number"], one["reason"]) for one in history] == [(2, "a fresh start"), (1, None)]


def incompatible(service, job):
    """A job whose newest version the gate refuses; the sides of that check."""
    service.push(job, *OLD)
    service.promote(job)
    service.push(job, *RENUMBERED)
    return {"old": {"job": job}, "new": {"job": job, "version": 2}}


def errors_of(service, sides, reason="agreed"):
    findings = check(service, **sides, record=False).json()["report"]["findings"]
    return [
        {"fingerprint": finding["fingerprint"], "reason": reason} for finding in findings if finding["level"] == "error"
    ]


@pytest.mark.parametrize("flink", ["1.20", "2.3"])
def test_the_gate_is_not_talked_round_by_a_check_with_other_options(service, job, flink):
    sides = incompatible(service, job)
    options = {"flink": flink, "allow_non_restored_state": True}
    assert check(service, **sides, options=options).status_code == 201
    assert check(service, **sides, options={"flink": "1.20"}).status_code == 201
    accept = errors_of(service, sides)
    assert accept
    refused = check(service, **sides, options={"accept": accept})
    assert refused.status_code == 403
    assert "admin" in refused.json()["detail"]
    assert check(service, **sides, options={"accept": accept}, record=False).json()["report"]["verdict"] == "compatible"
    assert service.promote(job).status_code == 409


def test_left_behind_state_is_let_pass_in_a_check_and_not_at_the_gate(service, job):
    client = service.client("push")
    for names in (OLD, OLD[:1]):
        client.post(f"/jobs/{job}/versions", json={"plan": plan(*names, uids=True)})
    service.promote(job, version=1)
    sides = {"old": {"job": job}, "new": {"job": job, "version": 2}}
    assert check(service, **sides, options={"allow_non_restored_state": True}).json()["check"]["passed"]
    refused = service.promote(job)
    assert refused.status_code == 409
    assert refused.json()["report"]["allow_non_restored_state"] is False


def test_an_admin_accepts_with_a_reason_and_the_promotion_shows_it(service, job):
    sides = incompatible(service, job)
    accept = errors_of(service, sides)
    for reason in ("", " \t"):
        empty = [{**one, "reason": reason} for one in accept]
        answer = check(service, "admin", **sides, options={"accept": empty})
        assert (answer.status_code, answer.json()["pointer"]) == (422, "options.accept[0]")
    assert service.promote(job).status_code == 409
    made = check(service, "admin", **sides, options={"accept": accept}, author="somebody else").json()["check"]
    assert (made["passed"], made["by"]) == (True, "a admin")
    promoted = service.promote(job)
    assert promoted.status_code == 200
    promotion = promoted.json()["promotion"]
    assert (promotion["forced"], promotion["by"], promotion["check"]) == (False, "a push", made["id"])
    assert {one["fingerprint"] for one in promotion["accepted"]} == {one["fingerprint"] for one in accept}
    assert {(one["by"], one["reason"]) for one in promotion["accepted"]} == {("a admin", "agreed")}
    assert service.client().get(f"/jobs/{job}/promotions").json()["promotions"][0] == promotion
    page = httpx.get(f"{service.url}/jobs/{job}").text
    assert "agreed" in page
    assert "a admin" in page


def test_what_was_accepted_holds_for_those_two_plans_alone(service, job):
    sides = incompatible(service, job)
    check(service, "admin", **sides, options={"accept": errors_of(service, sides)})
    again = check(service, **sides).json()  # asked by one who accepts nothing
    assert again["check"]["passed"]
    assert {finding["ignored"] for finding in again["report"]["suppressed"]} == {"agreed"}
    service.push(job, "other", *RENUMBERED)
    assert service.promote(job).status_code == 409
    assert service.promote(job, version=2).status_code == 200


def test_a_part_of_the_findings_accepted_is_not_enough(service, job):
    sides = incompatible(service, job)
    accept = errors_of(service, sides)
    assert len(accept) > 1
    check(service, "admin", **sides, options={"accept": accept[1:]})
    assert service.promote(job).status_code == 409
    forced = service.promote(job, "admin", force=True, reason="a fresh start").json()["promotion"]
    assert (forced["forced"], len(forced["accepted"])) == (True, len(accept) - 1)


def check(service, role="push", **request):
    return service.client(role).post("/checks", json=request)


def test_two_plans(service):
    answer = check(service, old={"plan": plan(*OLD), "label": "one"}, new={"plan": plan(*OLD), "label": "two"})
    assert answer.status_code == 201
    made = answer.json()
    assert made["check"]["verdict"] == "compatible"
    assert made["report"]["sentence"].startswith("COMPATIBLE: two restores the state of one")
    assert service.client().get(f"/checks/{made['check']['id']}").json() == made


def test_what_hangs_on_the_parallelism_of_the_cluster_is_unknown(service, job):
    hanging = plan(*OLD) | {"otherwise": plan(*RENUMBERED)}
    found = check(service, old={"plan": plan(*OLD)}, new={"plan": hanging}).json()
    assert (found["check"]["verdict"], found["report"]["findings"][0]["rule"]) == ("unknown", "CMP306")
    service.push(job, *OLD)
    service.promote(job)
    for old, verdict in (({"job": job}, "unknown"), ({"plan": hanging}, "compatible")):
        assert check(service, old=old, new={"plan": hanging}).json()["check"]["verdict"] == verdict


def test_a_plan_against_what_runs_and_against_a_version(service, job):
    service.push(job, *OLD)
    service.push(job, *RENUMBERED)
    service.promote(job, version=1)
    against_current = check(service, old={"job": job}, new={"plan": plan(*RENUMBERED)}).json()
    assert (against_current["check"]["job"], against_current["check"]["old"]["version"]) == (job, 1)
    assert against_current["check"]["verdict"] == "incompatible"
    assert check(service, old={"job": job, "version": 2}, new={"plan": plan(*RENUMBERED)}).json()["check"]["passed"]
    assert service.client().get(f"/jobs/{job}").json()["last_check"]["passed"]
    listed = service.client().get("/checks", params={"job": job}).json()["checks"]
    assert [one["verdict"] for one in listed] == ["compatible", "incompatible"]


def test_a_report_follows_the_schema_of_the_command_line(service):
    report = check(service, old={"plan": plan(*OLD)}, new={"plan": plan(*RENUMBERED)}).json()["report"]
    jsonschema.validate(report, schemas.load("report"))
    assert report["failures"] == []


def test_what_is_accepted_passes_and_is_kept_with_its_reason(service):
    sides = {"old": {"plan": plan(*OLD)}, "new": {"plan": plan(*RENUMBERED)}}
    findings = check(service, **sides).json()["report"]["findings"]
    accept = [
        {"fingerprint": finding["fingerprint"], "reason": "known"}
        for finding in findings
        if finding["level"] == "error"
    ]
    assert accept
    answer = check(service, "admin", **sides, options={"accept": accept}).json()
    assert answer["check"]["passed"]
    assert {finding["ignored"] for finding in answer["report"]["suppressed"]} == {"known"}


def test_state_may_be_left_behind_if_asked(service):
    sides = {"old": {"plan": plan(*OLD, uids=True)}, "new": {"plan": plan(OLD[0], uids=True)}}
    assert not check(service, **sides).json()["check"]["passed"]
    assert check(service, **sides, options={"allow_non_restored_state": True}).json()["check"]["passed"]


def test_what_is_not_recorded_needs_no_right_to_record(service):
    sides = {"old": {"plan": plan(*OLD)}, "new": {"plan": plan(*OLD)}}
    answer = check(service, role=None, **sides, record=False)
    assert (answer.status_code, answer.json()["check"]) == (200, None)
    assert check(service, role=None, **sides).status_code == 401
    assert check(service, role="read", **sides).status_code == 403


def test_a_refused_program_is_a_finding_as_on_the_command_line(service):
    refused = {
        "format": 1,
        "flink": "2.3",
        "job_name": "job",
        "error": {
            "stage": "hash",
            "class": "IllegalArgumentException",
            "message": 'Hash collision on user-specified ID "a".',
            "source": {"file": "job.py", "line": 3},
        },
    }
    report = check(service, old={"plan": plan(*OLD)}, new={"plan": refused}).json()["report"]
    assert [finding["rule"] for finding in report["findings"]] == ["CMP105"]
    undecided = check(service, old={"plan": refused}, new={"plan": plan(*OLD)}).json()
    assert undecided["check"]["verdict"] == "unknown"
    assert undecided["report"]["failures"][0]["side"] == "old"


def test_a_promotion_that_others_overtook_is_refused(service, job):
    service.push(job, *OLD)
    service.push(job, *OLD, commit="two")
    registry = service.registry
    registry.jobs.promote(job, 2, expected=None, by="me", check=None)
    with pytest.raises(Exception, match="runs by now"):
        registry.jobs.promote(job, 1, expected=None, by="other", check=None)
    registry.database.close()


def test_lists_go_by_pages(service, job):
    for number in range(5):
        service.push(job, *OLD, commit=str(number))
    client = service.client("read")
    first = client.get(f"/jobs/{job}/versions", params={"limit": 2}).json()["versions"]
    rest = client.get(f"/jobs/{job}/versions", params={"before": first[-1]["number"]}).json()["versions"]
    assert [one["number"] for one in (*first, *rest)] == [5, 4, 3, 2, 1]


def test_jobs_go_by_pages(service, job):
    for number in range(3):
        service.push(f"{job} {number}", *OLD)
    client = service.client("read")

    def names(**query):
        return [one["name"] for one in client.get("/jobs", params=query).json()["jobs"]]

    assert names(limit=2, after=f"{job} 0") == [f"{job} 1", f"{job} 2"][:2]
    assert names(limit=1, after=job) == [f"{job} 0"]
    assert client.get("/jobs", params={"after": "a/b"}).status_code == 422
    page = httpx.get(service.url, params={"after": f"{job} 1"}).text
    assert f"{job} 2" in page
    assert f"{job} 0" not in page.partition("Latest checks")[0]


def test_the_catalogue(service):
    listed = service.client(None).get("/rules").json()["rules"]
    assert [rule["id"] for rule in listed] == list(RULES)
    assert service.client(None).get("/rules/cmp101").json() == listed[list(RULES).index("CMP101")]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/jobs/nobody", 404),
        ("/jobs/nobody/versions", 404),
        ("/jobs/nobody/versions/current/plan", 404),
        ("/jobs/%2e%2e", 422),
        ("/jobs/a%0Ab", 422),
        ("/checks/999999", 404),
        ("/checks/nine", 422),
        ("/checks/99999999999999999999", 422),
        ("/checks?limit=0", 422),
        ("/checks?before=x", 422),
        ("/savepoints/none", 404),
        ("/rules/CMP999", 404),
        ("/nothing", 404),
    ],
)
def test_what_is_not_there(service, path, status):
    answer = service.client("read").get(path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        (lambda body: body.pop("old"), "old"),
        (lambda body: body.update(extra=1), None),
        (lambda body: body["old"].update(job="other"), "old"),
        (lambda body: body["old"].update(version=1), "old.version"),
        (lambda body: body["old"].update(label=7), "old.label"),
        (lambda body: body.update(old={"savepoint": "../../etc"}), "old.savepoint"),
        (lambda body: body.update(old={"job": "../x"}), "job"),
        (lambda body: body.update(options={"flink": "0.1"}), "options.flink"),
        (lambda body: body.update(options={"accept": [{"fingerprint": "x"}]}), "options.accept[0]"),
        (lambda body: body.update(record="yes"), "record"),
        (lambda body: body["old"]["plan"].pop("operators"), "old.plan"),
        (lambda body: body["old"]["plan"].update(job_graph=[]), "old.plan.job_graph"),
        (lambda body: body["new"]["plan"]["operators"][0].update(detail=[]), "new.plan.operators[0].detail"),
        (lambda body: body["new"]["plan"]["stream_graph"]["nodes"][0].update(id=True), "nodes[0].id"),
    ],
)
def test_a_wrong_field_is_named(service, change, pointer):
    body = {"old": {"plan": plan(*OLD)}, "new": {"plan": plan(*OLD)}}
    change(body)
    answer = check(service, **body)
    assert answer.status_code in (400, 422)
    assert (pointer or "") in answer.json().get("pointer", "")


def test_wrong_facts_of_a_plan_leave_the_check_undecided(service):
    broken = plan(*OLD)
    broken["operators"][0]["operator_id"] = "short"
    answer = check(service, old={"plan": broken}, new={"plan": plan(*OLD)}).json()
    assert answer["check"]["verdict"] == "unknown"
    assert "operators[0].operator_id" in answer["report"]["failures"][0]["message"]


def test_health_and_metrics(service):
    assert httpx.get(f"{service.url}/livez").text == "alive\n"
    assert httpx.get(f"{service.url}/readyz").text == "ready\n"
    check(service, old={"plan": plan(*OLD)}, new={"plan": plan(*OLD)})
    service.client().get("/jobs/some-job-of-a-client")
    metrics = httpx.get(f"{service.url}/metrics").text
    assert 'compat_checks_total{verdict="compatible"}' in metrics
    assert 'route="/api/v1/jobs/{job}"' in metrics
    assert "some-job-of-a-client" not in metrics
