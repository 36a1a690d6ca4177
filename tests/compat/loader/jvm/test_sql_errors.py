"""What is told of a statement that Flink cannot read."""

import pytest

from compat.loader.jvm.sql_errors import advice, told

TOKENS = ["<EOF>", '"AS" ...', '"FETCH" ...', '"FROM" ...', "<IDENTIFIER> ...", '";" ...', '"," ...', '"<" ...', '"("']
EXPECTING = "\nWas expecting one of:\n" + "".join(f"    {token}\n" for token in TOKENS)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            f"SQL parse failed. Incorrect syntax near the keyword 'SUM' at line 1, column 24.{EXPECTING}",
            "SQL parse failed. Incorrect syntax near the keyword 'SUM' at line 7, column 24. "
            "Expected is ',', 'FROM', 'AS', '(' or ';'.",
        ),
        (
            f'SQL parse failed. Encountered "FETHC" at line 2, column 3.{EXPECTING}',
            "SQL parse failed. Encountered \"FETHC\" at line 8, column 3. Expected is 'FETCH', ',', 'FROM', 'AS' or '('.",
        ),
        (
            'SQL parse failed. Encountered "<EOF>" at line 1, column 5.\nWas expecting:\n    <IDENTIFIER> ...\n',
            'SQL parse failed. Encountered "<EOF>" at line 7, column 5. Expected is a name.',
        ),
        (
            "SQL validation failed. SQL validation failed. From line 1, column 22 to line 1, column 23: Column 'kk' not found",
            "SQL validation failed. From line 7, column 22 to line 7, column 23: Column 'kk' not found",
        ),
        ("Two lines\n  of it", "Two lines of it"),
    ],
    ids=["usual tokens", "a token that is alike", "one token", "said twice", "several lines"],
)
def test_an_error_is_one_line_with_its_place_in_the_script(message, expected):
    assert told(message, 7) == expected


@pytest.mark.parametrize(
    ("fault", "expecting", "expected"),
    [
        (
            'Encountered "user" at',
            '<IDENTIFIER> ..."\n    <BACK_QUOTED_IDENTIFIER> ...\n',
            "Where user is a name, write it in backquotes: `user`.",
        ),
        (
            "Incorrect syntax near the keyword 'VALUE' at",
            "<BACK_QUOTED_IDENTIFIER> ...\n",
            "Where VALUE is a name, write it in backquotes: `VALUE`.",
        ),
        ('Encountered "FETHC" at', '"FETCH" ...\n', None),
        ('Encountered "<EOF>" at', "<BACK_QUOTED_IDENTIFIER> ...\n", None),
    ],
    ids=["a word", "a keyword", "no name is expected", "the end"],
)
def test_a_reserved_word_that_is_a_name_is_to_be_quoted(fault, expecting, expected):
    assert advice(f"SQL parse failed. {fault} line 1, column 39.\nWas expecting one of:\n    {expecting}") == expected
