"""Serializers of two savepoints, held against each other."""

import pytest

from compat.savepoint.recorded import read
from compat.savepoint.serializers import unlike
from tests.compat.savepoint.conftest import GOLDEN

SAVEPOINTS = GOLDEN / "java_savepoints"
PROGRAMS = GOLDEN / "java" / "2.3.0"


@pytest.mark.parametrize("name", ["kryo_same", "q_topn_n", "oplist_to_union", "broadcast_renamed"])
def test_a_savepoint_is_like_itself(name):
    found = read(str(SAVEPOINTS / name))
    assert unlike(found, found) == ()


def test_a_serializer_that_only_its_class_reads_is_said():
    found = read(str(SAVEPOINTS / "custom_ser_incompatible"))
    (sentence,) = unlike(found, found)
    assert "is written in a form that only its class reads" in sentence


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "java/2.3.0/pojo_field_added/savepoint",
            "java_savepoints/kryo_same",
            "The state 'st' of 'val' has another serializer. PojoFieldAdded$P became KryoSame$P.",
        ),
        (
            "java/2.3.0/tuple_arity/savepoint",
            "java/2.3.0/pojo_field_added/savepoint",
            "The state 'st' of 'val' has another serializer. Java Tuple2<String, Long> became PojoFieldAdded$P.",
        ),
    ],
)
def test_what_differs_is_said(old, new, sentence):
    assert sentence in unlike(read(str(GOLDEN / old)), read(str(GOLDEN / new)))
