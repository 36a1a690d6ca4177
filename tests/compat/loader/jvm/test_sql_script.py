"""Scripts are split as Flink's SQL client splits them."""

import pytest

from compat.loader.jvm import sql_script
from compat.loader.jvm.messages import SqlStatement

SCRIPT = """-- a comment; with a semicolon
SET 'table.exec.state.ttl' = '1 d';
CREATE TABLE t (
  name STRING COMMENT 'it''s; fine',  -- a `quote
  `odd;name` BIGINT
) WITH ('connector' = 'datagen');
/* nothing;
   here */
INSERT INTO o SELECT /*+ STATE_TTL('t' = '1d') */ name FROM t;

EXECUTE STATEMENT SET
BEGIN
INSERT INTO a SELECT CASE WHEN name = 'x' THEN 1 ELSE 2 END FROM t;
INSERT INTO b
SELECT 1 FROM t;
END;
"""


def test_statements_have_their_lines():
    found = sql_script.statements(SCRIPT)
    assert [(one.line, one.end_line, one.text.split()[0]) for one in found] == [
        (2, 2, "SET"),
        (3, 6, "CREATE"),
        (9, 9, "INSERT"),
        (11, 16, "EXECUTE"),
    ]
    assert "STATE_TTL" in found[2].text


def test_a_statement_set_gives_its_inserts():
    statement_set = sql_script.statements(SCRIPT)[-1]
    assert [(one.line, one.end_line, one.text[:13]) for one in sql_script.members(statement_set)] == [
        (13, 13, "INSERT INTO a"),
        (14, 15, "INSERT INTO b"),
    ]


def test_the_older_form_of_a_statement_set():
    (only,) = sql_script.statements("BEGIN STATEMENT SET;\nINSERT INTO a SELECT 1;\nINSERT INTO b SELECT 2;\nEND;")
    assert [one.line for one in sql_script.members(only)] == [2, 3]


def test_a_statement_set_that_is_compiled():
    begun = "COMPILE AND EXECUTE PLAN 'p' FOR STATEMENT SET\nBEGIN\n"
    compiled, reset = sql_script.statements(f"{begun}INSERT INTO a SELECT 1;\nINSERT INTO b SELECT 2;\nEND;\nRESET;")
    planned = sql_script.plan_statement(compiled.text)
    inner = SqlStatement(text=planned.statement, line=1, end_line=1)
    assert [(one.line, one.text[:13]) for one in sql_script.members(inner)] == [
        (3, "INSERT INTO a"),
        (4, "INSERT INTO b"),
    ]
    assert reset.text == "RESET"


@pytest.mark.parametrize(
    "text", ["INSERT INTO a SELECT 1", "INSERT INTO a SELECT 1;", "\n;;\nINSERT INTO a SELECT 1\n;\n"]
)
def test_the_last_semicolon_may_be_missing(text):
    assert [one.text for one in sql_script.statements(text)] == ["INSERT INTO a SELECT 1"]


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("SET 'pipeline.name' = 'it''s'", ("pipeline.name", "it's")),
        ("set parallelism.default = 4", ("parallelism.default", "4")),
        ("SET", None),
        ("INSERT INTO a SELECT 1", None),
    ],
)
def test_settings(text, option):
    assert sql_script.setting(text) == option


@pytest.mark.parametrize(("text", "key"), [("RESET", ""), ("RESET 'a.b'", "a.b"), ("RESET a.b", "a.b"), ("SET", None)])
def test_resets(text, key):
    assert sql_script.reset(text) == key


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("SELECT 1", True),
        ("WITH x AS (SELECT 1) SELECT * FROM x", True),
        ("(SELECT 1) UNION (SELECT 2)", True),
        ("INSERT INTO a SELECT 1", False),
        ("CREATE TABLE a AS SELECT 1", False),
    ],
)
def test_queries_only_show_rows(text, query):
    assert sql_script.is_query(text) is query


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("CREATE TABLE t (k INT); SELECT k, COUNT(*) FROM t GROUP BY k;", True),
        ("SELECT 1; INSERT INTO a SELECT 1;", False),
        ("SELECT 1; EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; END;", False),
        ("SELECT 1; EXECUTE PLAN 'a.json';", False),
        ("SELECT 1; COMPILE PLAN 'a.json' FOR INSERT INTO a SELECT 1;", True),
        ("CREATE TABLE t (k INT);", False),
    ],
)
def test_queries_are_the_jobs_of_a_script_that_writes_nothing(text, asks):
    assert sql_script.asks_only(text) is asks


def test_plan_statements():
    compiled = sql_script.plan_statement("COMPILE PLAN '/tmp/it''s.json' IF NOT EXISTS FOR INSERT INTO a SELECT 1")
    assert (compiled.path, compiled.statement) == ("/tmp/it's.json", "INSERT INTO a SELECT 1")
    assert (compiled.keep, compiled.execute) == (True, False)
    both = sql_script.plan_statement("compile and execute plan 'p' for INSERT INTO a SELECT 1")
    assert (both.keep, both.execute) == (False, True)
    assert sql_script.plan_statement("EXECUTE PLAN 'p'").statement is None
    assert sql_script.plan_statement("EXECUTE STATEMENT SET BEGIN END") is None


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        (
            "BEGIN STATEMENT SET;\nINSERT INTO a SELECT 1;\nEND",
            "EXECUTE STATEMENT SET BEGIN \nINSERT INTO a SELECT 1;\nEND",
        ),
        ("INSERT INTO a SELECT 'BEGIN STATEMENT SET;'", "INSERT INTO a SELECT 'BEGIN STATEMENT SET;'"),
    ],
)
def test_a_set_of_the_client_is_run_as_a_set(text, runs):
    assert sql_script.executable(text) == runs
