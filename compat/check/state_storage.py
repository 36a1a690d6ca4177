"""How a pair's state is stored, which decides how the new declaration of a state reads the old one's bytes.

Python operators keep state in another form than Java operators, and each of PyFlink's two modes has its own form. State in a
store of this project is restored by its own rules.
"""

from __future__ import annotations

from enum import Enum

from compat.check.context import Check
from compat.check.mapping import Pair
from compat.state import names as framework
from compat.state.compatibility import JAVA, PROCESS, STORE, THREAD, Compatibility, Dialect, resolve_map
from compat.state.compatibility.answers import SAME, incompatible, worst
from compat.state.model.operators import Operator
from compat.state.model.states import State, StateKind, StateScope
from compat.state.types import ListTypeInfo, MapTypeInfo, TypeInformation
from compat.state.types.spelling import parse_type

_ONE_VALUE = frozenset({StateKind.VALUE, StateKind.REDUCING, StateKind.AGGREGATING})


class KindChange(Enum):
    """The fate of the values of a state whose kind changed."""

    NONE = "nothing"
    READ = "are read"
    FIRST_ONLY = "first only"
    REFUSED = "refused"


def dialect_of(check: Check, pair: Pair) -> Dialect | None:
    """The storage dialect of a pair's state; None if the sides differ."""
    if check.old.kept_by_store:
        return STORE
    if "python" not in pair.new.detail:
        return JAVA
    modes = check.told_modes if _declared(pair.old) == _declared(pair.new) else check.execution_modes
    if None not in modes and modes[0] != modes[1]:
        return None
    return THREAD if "thread" in modes else PROCESS


def _declared(operator: Operator) -> list[tuple[object, ...]]:
    """An operator's statements about its states: if they stay the same, the mode makes no difference."""
    return [(one.name, one.kind, one.scope, one.type, one.key_type, one.ttl) for one in operator.states or ()]


def kind_change(old: State, new: State, dialect: Dialect) -> KindChange:
    """How a state of another kind reads the old values.

    In process mode PyFlink keeps all but maps as lists, of which the states of one value read the first element.
    """
    if old.kind is new.kind:
        return KindChange.NONE
    if dialect is PROCESS and StateKind.MAP not in (old.kind, new.kind):
        return KindChange.FIRST_ONLY if old.kind is StateKind.LIST else KindChange.READ
    if dialect is THREAD and {old.kind, new.kind} <= _ONE_VALUE:
        return KindChange.READ
    return KindChange.REFUSED


def type_change(old: State, new: State, dialect: Dialect) -> Compatibility | None:
    """Whether the new type reads what the old one wrote; None if one of them is not known, or kinds do not fit."""
    if old.type is None or new.type is None:
        return None
    before, after = parse_type(old.type), parse_type(new.type)
    if before is None or after is None:
        return SAME if old.type == new.type else incompatible(f"{old.type} became {new.type}")
    if isinstance(before, MapTypeInfo) and isinstance(after, MapTypeInfo) and old.kind is new.kind is StateKind.MAP:
        if dialect is STORE:
            return resolve_map(before, after)
        keys = dialect.resolve(before.key_type, after.key_type, alone=False)
        values = dialect.resolve(before.value_type, after.value_type, alone=False)
        return worst([keys.within("the keys"), values.within("the values")])
    if StateKind.MAP in (old.kind, new.kind) and old.kind is not new.kind:
        return None
    alone = StateKind.LIST not in (old.kind, new.kind)
    return dialect.resolve(_element(before, old), _element(after, new), alone=alone)


def _element(type_info: TypeInformation, state: State) -> TypeInformation:
    """The type of one value of a state: of a list state, an element's."""
    of_list = state.kind is StateKind.LIST and isinstance(type_info, ListTypeInfo)
    return type_info.element_type if of_list else type_info  # type: ignore[attr-defined]


def key_change(old: str, new: str) -> Compatibility:
    """Whether keys of one type are found again under another. Keys are written by Java's serializers in all modes."""
    before, after = parse_type(old), parse_type(new)
    if before is None or after is None:
        return SAME if old == new else incompatible(f"{old} became {new}")
    return JAVA.resolve(before, after)


def is_kept(state: State) -> bool:
    """True for states whose types a rule may compare: those of the program, and the elements in windows."""
    in_windows = state.name == framework.WINDOW_CONTENTS
    return not state.built_in or (state.scope is StateScope.KEYED and (in_windows or state.type is not None))
