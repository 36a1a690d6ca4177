"""Writes settings into a Python program: one more call after the call that creates an operator, or another argument.

The program is edited as a concrete syntax tree, so that the rest keeps its bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import libcst as cst
from msgspec import Struct

from compat.fix.breaking import DEFAULT_WIDTH, broken
from compat.fix.calls import Calls
from compat.fix.edits import Refusal, Settings
from compat.fix.rewritten import Lines, Rewritten, Unfit, refused_all
from compat.state.model.source_line import End

Whitespace = cst.BaseParenthesizableWhitespace


def rewrite(
    source: bytes, calls: Mapping[End, Settings], environment: Settings, width: int = DEFAULT_WIDTH
) -> Rewritten:
    """The program with these settings: on the operators whose calls end at these places, and on the environment.

    A line that thereby becomes longer than ``width`` is broken.
    """
    every = [*calls.values(), environment]
    try:
        module = cst.parse_module(source)
        if module.bytes != source:
            return Rewritten(source, refused_all(every, "the file could not be written back with all else unchanged"))
    except (cst.ParserSyntaxError, UnicodeError, LookupError):
        return Rewritten(source, refused_all(every, "the file could not be read as Python"))
    changes, refused = _Changes(Calls(module)), []
    lines = Lines(module.code)
    for end, settings in calls.items():
        for method, (value, fix) in settings.items():
            try:
                changes.set(lines.character(end), method, value, only_text=fix.operator_id is None)
            except Unfit as reason:
                refused.append(Refusal(fix, str(reason)))
    for method, (value, fix) in environment.items():
        try:
            changes.set_environment(method, value)
        except Unfit as reason:
            refused.append(Refusal(fix, str(reason)))
    try:
        return Rewritten(module.visit(_Writer(changes, module.default_indent, width)).bytes, tuple(refused))
    except UnicodeEncodeError:
        return Rewritten(source, refused_all(every, f"the file is in {module.encoding}, which lacks a character of it"))


class _Added(Struct, frozen=True):
    """A call to add after another one, with the white space before its dot."""

    method: str
    value: str
    before_dot: Whitespace


@dataclass(slots=True)
class _Changes:
    """The changes of a tree. ``bare`` are calls whose comment moves, so that it stays on the line that it is about."""

    calls: Calls
    arguments: dict[cst.Call, str] = field(default_factory=dict)
    added: dict[cst.Call, list[_Added]] = field(default_factory=dict)
    bare: set[cst.Call] = field(default_factory=set)

    def set(self, end: End, method: str, value: str, *, only_text: bool = False) -> None:
        """Give a setting to the operator of the call that ends there. Raises Unfit.

        ``only_text`` is for a program that was refused before its job was complete: a computed argument is left alone,
        as it may differ for the next operator of that call.
        """
        call = self.calls.ending_at(end)
        if call is None:
            raise Unfit("no call ends where the program made the operator; did the file change?")
        self._set_once(self.calls.settings_of(call, method), method, value, call, only_text=only_text)

    def set_environment(self, method: str, value: str) -> None:
        """Change a setting of the environment that the program creates. Raises Unfit."""
        present = self.calls.on_the_environment(method)
        if not present:
            raise Unfit(f"the program has no call of {method} on its environment; an option of the cluster may set it")
        self._set_once(present, method, value, present[0])

    def _set_once(
        self, present: list[cst.Call], method: str, value: str, call: cst.Call, *, only_text: bool = False
    ) -> None:
        if len(present) > 1:
            raise Unfit(f"{method} is called {len(present)} times there")
        if present:
            (argument, *others) = present[0].args or (None,)
            if argument is None or others or argument.star:
                raise Unfit(f"the argument of {method} there is not a single value")
            if only_text and not isinstance(argument.value, cst.SimpleString):
                raise Unfit(f"the argument of {method} there is computed, and may differ for other operators")
            self.arguments[present[0]] = value
        elif isinstance(call.func, cst.Attribute | cst.Name):
            added = self.added.setdefault(call, [])
            added.append(_Added(method, value, self._before_dot(call, first=not added)))
        else:
            raise Unfit("the operator is not made by a call of a method")

    def _before_dot(self, call: cst.Call, *, first: bool) -> Whitespace:
        """The white space before an added call: a new line if the calls around have lines of their own, else nothing."""
        own = call.func.dot.whitespace_before if isinstance(call.func, cst.Attribute) else cst.SimpleWhitespace("")
        if isinstance(own, cst.SimpleWhitespace):
            return own if "\n" in own.value else cst.SimpleWhitespace("")
        following = self._after(call)
        if not isinstance(own, cst.ParenthesizedWhitespace) or not isinstance(following, cst.ParenthesizedWhitespace):
            return cst.SimpleWhitespace("")
        self.bare.add(call)
        return cst.ParenthesizedWhitespace(
            first_line=following.first_line if first else _plain(following.first_line),
            indent=own.indent,
            last_line=own.last_line,
        )

    def _after(self, call: cst.Call) -> Whitespace | None:
        """The white space after a call, if a dot or the parenthesis around the call follows."""
        if call.rpar:
            return call.rpar[0].whitespace_before
        parent = self.calls.parent(call)
        return parent.dot.whitespace_before if isinstance(parent, cst.Attribute) and parent.value is call else None


class _Writer(cst.CSTTransformer):
    """Makes the changes."""

    def __init__(self, changes: _Changes, indent: str, width: int) -> None:
        super().__init__()
        self._changes = changes
        self._default_indent, self._width = indent, width
        self._indents: list[str] = []
        self._edited = False

    def visit_IndentedBlock(self, node: cst.IndentedBlock) -> None:  # noqa: N802 - libcst's name
        """Note a deeper indentation."""
        self._indents.append(node.indent or self._default_indent)

    def leave_IndentedBlock(  # noqa: N802 - libcst's name
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        """Note the former indentation."""
        self._indents.pop()
        return updated_node

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> None:  # noqa: N802 - libcst's name
        """Note the beginning of a statement."""
        self._edited = False

    def leave_SimpleStatementLine(  # noqa: N802 - libcst's name
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine:
        """Break a statement that became too long."""
        if not self._edited:
            return updated_node
        return broken(updated_node, original_node, "".join(self._indents), self._width)

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:  # noqa: N802 - libcst's name
        """Change an argument of the call, and add calls after it."""
        value = self._changes.arguments.get(original_node)
        if value is not None:
            argument = updated_node.args[0].with_changes(value=cst.parse_expression(value))
            updated_node = updated_node.with_changes(args=[argument])
        for added in self._changes.added.get(original_node, ()):
            self._edited = True
            lpar, rpar = updated_node.lpar, updated_node.rpar
            inner = updated_node.with_changes(lpar=(), rpar=())
            dot = cst.Dot(whitespace_before=added.before_dot)
            function = cst.Attribute(value=inner, attr=cst.Name(added.method), dot=dot)
            updated_node = cst.Call(
                func=function, args=[cst.Arg(cst.parse_expression(added.value))], lpar=lpar, rpar=rpar
            )
        if original_node in self._changes.bare and updated_node.rpar:
            first, *rest = updated_node.rpar
            bare = first.with_changes(whitespace_before=_without_comment(first.whitespace_before))
            updated_node = updated_node.with_changes(rpar=[bare, *rest])
        return updated_node

    def leave_Attribute(  # noqa: N802 - libcst's name
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.Attribute:
        """Put the moved comment of a call behind its dot."""
        call = original_node.value
        if not isinstance(call, cst.Call) or call not in self._changes.bare or call.rpar:
            return updated_node
        dot = updated_node.dot
        return updated_node.with_changes(
            dot=dot.with_changes(whitespace_before=_without_comment(dot.whitespace_before))
        )


def _without_comment(space: Whitespace) -> Whitespace:
    """The white space without the comment at the end of its first line."""
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return space
    return space.with_changes(first_line=_plain(space.first_line))


def _plain(line: cst.TrailingWhitespace) -> cst.TrailingWhitespace:
    """The end of a line without its comment."""
    return line.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))
