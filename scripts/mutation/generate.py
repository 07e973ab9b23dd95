"""Generate mutants of a Python module: copies in which one thing differs, in a way that a test should notice.

Only text between exact positions of the syntax tree is replaced, so everything else, line numbers included, stays. Left alone
is what no promise rests on: docstrings, types, decorators, imports, text for people (what is raised, f-strings, ``__str__``),
and the pace of things (what reads the clock).
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

#: The operators of comparisons, arithmetic and calls, and what each is replaced by.
COMPARISONS = {
    **{"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="},
    **{"in": "not in", "not in": "in", "is": "is not", "is not": "is"},
}
ARITHMETIC = {
    **{"+": "-", "-": "+", "*": "//", "//": "*", "/": "*", "%": "*", "**": "*"},
    **{"<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "|"},
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor"}
#: What these return is for people.
SHOWN = {"__str__", "__repr__", "_repr_html_"}
#: They read the clock, or let it go on.
CLOCKS = {"monotonic", "perf_counter", "sleep"}
#: ``zip(strict=)`` is an assertion about our own code; the others are looks.
UNTOUCHED_KEYWORDS = {"strict", "indent", "stacklevel", "repr"}

_OPERATOR = re.compile(r"not\s+in\b|is\s+not\b|in\b|is\b|and\b|or\b|<<|>>|<=|>=|==|!=|//|\*\*|[-+*/%&|^<>]")


@dataclass(frozen=True)
class Mutant:
    """A module in which one thing is changed; lines are counted from 1."""

    module: str
    line: int
    span: tuple[int, int]  #: first and last line of the statement that it is in; (0, 0) if that runs at import
    function: str
    text: str  #: the whole first line, as it was
    change: str  #: what was replaced, and by what
    source: str

    @property
    def name(self) -> tuple[str, str, str, str]:
        """What identifies a mutant while lines above it come and go."""
        return self.module, self.function, self.text, self.change

    def __str__(self) -> str:
        return f"{self.module}:{self.line}  {self.change}"


@dataclass(frozen=True)
class Edit:
    """Bytes from ``start`` to ``end`` are replaced; ``shown`` from and to say what that is a part of."""

    start: int
    end: int
    new: str
    shown: tuple[int, int]
    span: tuple[int, int]


def mutants(module: str, source: str) -> list[Mutant]:
    """Return all mutants of a module that differ as text."""
    text, lines, found = source.encode(), source.split("\n"), dict[str, Mutant]()
    edits = _Edits(text)
    edits.visit(ast.parse(source))
    for function, edit in edits.found:
        changed = (text[: edit.start] + edit.new.encode() + text[edit.end :]).decode()
        begin, end = edit.shown
        before = text[begin:end].decode()
        after = (text[begin : edit.start] + edit.new.encode() + text[edit.end : end]).decode()
        line = text[: edit.start].count(b"\n")
        change = f"{_flat(before)} → {_flat(after)}"
        found.setdefault(changed, Mutant(module, line + 1, edit.span, function, lines[line].strip(), change, changed))
    found.pop(source, None)
    return sorted(_told_apart(found.values()), key=lambda mutant: mutant.line)


def _told_apart(found: Iterable[Mutant]) -> Iterator[Mutant]:
    """Number the places of a line, from the second on, at which the same change can be made."""
    seen: Counter[tuple[str, ...]] = Counter()
    for mutant in found:
        seen[mutant.name] += 1
        number = seen[mutant.name]
        yield mutant if number == 1 else replace(mutant, change=f"{mutant.change} (place {number})")


def is_another_program(mutant: Mutant, source: str) -> bool:
    """Say whether a mutant still is Python, and another program than its original."""
    try:
        return ast.dump(ast.parse(mutant.source)) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


def _flat(code: str) -> str:
    return " ".join(code.split())


class _Edits(ast.NodeVisitor):
    """Collects the edits of a syntax tree."""

    def __init__(self, text: bytes) -> None:
        self.found: list[tuple[str, Edit]] = []
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer(rb"\n", text))]
        self._scopes: list[str] = []
        #: Names that are assigned in the function at hand, once for each time.
        self._assigned: list[list[str]] = [[]]
        #: Whether all that the function at hand does is to return a value: without it, it is missed at once.
        self._is_short = [False]
        self._span = 1, 1
        #: In how many functions the visit is.
        self._inside = 0

    def visit(self, node: ast.AST) -> None:
        """Visit a node, and remember which statement it is in."""
        if isinstance(node, ast.stmt):
            self._enter(node)
        # A condition may have other halves; a statement with a body is more than its pace.
        if isinstance(node, ast.expr | ast.Assign | ast.Expr) and not isinstance(node, ast.BoolOp) and _is_pace(node):
            return
        super().visit(node)

    def _enter(self, statement: ast.stmt) -> None:
        """Remember the lines of a statement; of a compound one, those of its head."""
        body = getattr(statement, "body", None)
        last = body[0].lineno - 1 if body else statement.end_lineno
        self._span = statement.lineno, max(last or 0, statement.lineno)

    # Positions.

    def _begin(self, node: ast.expr | ast.stmt) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.end_lineno - 1] + node.end_col_offset

    def _code(self, node: ast.expr | ast.stmt) -> str:
        return self._text[self._begin(node) : self._end(node)].decode()

    def _edit(self, start: int, end: int, new: str, within: ast.expr | ast.stmt) -> None:
        if _is_pace(within):
            return
        shown = self._begin(within), self._end(within)
        span = self._span if self._inside else (0, 0)
        self.found.append((".".join(self._scopes), Edit(start, end, new, shown, span)))

    def _replace(self, node: ast.expr | ast.stmt, new: str, within: ast.expr | ast.stmt | None = None) -> None:
        self._edit(self._begin(node), self._end(node), new, within or node)

    def _operator(self, left: ast.expr, right: ast.expr, within: ast.expr | ast.stmt, table: dict[str, str]) -> None:
        """Replace the operator between two operands; parentheses and comments may stand there too."""
        begin = self._end(left)
        gap = self._text[begin : self._begin(right)].decode()
        match = _OPERATOR.search(re.sub(r"#.*", lambda comment: " " * len(comment[0].encode()), gap))
        if match and (new := table.get(" ".join(match[0].split()))):
            self._edit(begin + match.start(), begin + match.end(), new, within)

    # What is left alone.

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if node.name in SHOWN or any(
            _called(decorator) in ("overload", "abstractmethod") for decorator in node.decorator_list
        ):
            return
        self._scopes.append(node.name)
        self._assigned.append([name for part in ast.walk(node) for name in _assigned_names(part)])
        self._is_short.append(sum(not _is_docstring(statement) for statement in node.body) == 1)
        for default in [*node.args.defaults, *(default for default in node.args.kw_defaults if default)]:
            self.visit(default)
        self._inside += 1
        self._body(node)
        self._inside -= 1
        self._is_short.pop()
        self._assigned.pop()
        self._scopes.pop()

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815  # the name that Python calls

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._inside += 1
        self.visit(node.body)
        self._inside -= 1

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if any(_called(base) in ("Protocol", "TypedDict") for base in node.bases):
            return
        self._scopes.append(node.name)
        self._body(node)
        self._scopes.pop()

    def _body(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        for statement in node.body:
            self.visit(statement)

    def visit_Import(self, node: ast.Import) -> None: ...

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None: ...

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None: ...

    def visit_Raise(self, node: ast.Raise) -> None:
        self._replace(node, "pass")

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None or _called(node.annotation) == "TypeAlias":
            return
        if not isinstance(node.target, ast.Name):
            self._replace(node, "pass")
        self.visit(node.value)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in UNTOUCHED_KEYWORDS:
            self.visit(node.value)

    # What is changed.

    def visit_If(self, node: ast.If) -> None:
        if _called(node.test) == "TYPE_CHECKING":
            return
        self._condition(node.test)
        # Where all that a condition guards is one way out, a condition that is False is the same without it.
        leave_out = [*node.body, *node.orelse] if node.orelse or len(node.body) > 1 else []
        for statement in [*node.body, *node.orelse]:
            self._enter(statement)
            if statement in leave_out or not isinstance(statement, ast.Raise | ast.Return | ast.Expr | ast.AugAssign):
                self.visit(statement)
            elif isinstance(statement, ast.Return):
                self._returned(statement)
            elif isinstance(statement, ast.Expr):
                self.visit(statement.value)
            elif isinstance(statement, ast.AugAssign):
                self._augmented(statement)

    def visit_While(self, node: ast.While) -> None:
        self._replace(node.test, "False")
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._condition(node.test, node)
        self.visit(node.body)
        self.visit(node.orelse)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for condition in node.ifs:
            self._replace(condition, "True")
        self.generic_visit(node)

    def visit_match_case(self, node: ast.match_case) -> None:
        if node.guard:
            self._condition(node.guard)
        for statement in node.body:
            self.visit(statement)

    def _condition(self, test: ast.expr, within: ast.expr | None = None) -> None:
        for new in ("True", "False"):
            self._replace(test, new, within)
        self.visit(test)

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, right in zip([node.left, *node.comparators], node.comparators, strict=False):
            self._operator(left, right, node, COMPARISONS)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._operator(left, right, node, {"and": "or", "or": "and"})
        for half in node.values:
            self._replace(half, "True" if isinstance(node.op, ast.And) else "False", node)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub):
            self._replace(node, self._code(node.operand))
        if not isinstance(node.operand, ast.Constant):
            self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if not any(_is_text(side) for side in (node.left, node.right)):
            self._operator(node.left, node.right, node, ARITHMETIC)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._replace(node, "pass")
        self._augmented(node)

    def _augmented(self, node: ast.AugAssign) -> None:
        self._operator(node.target, node.value, node, ARITHMETIC)
        self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        names = [name for target in node.targets for name in _names(target)]
        if names == ["__all__"] or names == ["__slots__"]:
            return
        # A name that is assigned once is missed at once; that shows nothing.
        if not names or all(self._assigned[-1].count(name) > 1 for name in names):
            self._replace(node, "pass")
        self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        if _is_docstring(node):
            return
        if isinstance(node.value, ast.Call | ast.Await | ast.Yield | ast.YieldFrom):
            self._replace(node, "pass" if not isinstance(node.value, ast.Yield | ast.YieldFrom) else "yield from ()")
        self.visit(node.value)

    def visit_Delete(self, node: ast.Delete) -> None:
        self._replace(node, "pass")

    def visit_Return(self, node: ast.Return) -> None:
        self._returned(node)

    def _returned(self, node: ast.Return) -> None:
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            return
        is_false = isinstance(node.value, ast.Constant) and node.value.value is False  # as good as None
        if not self._is_short[-1] and not is_false:
            self._replace(node, "return None")
        self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        if (new := CALLS.get(_called(function))) and isinstance(function, ast.Name | ast.Attribute):
            end = self._end(function)
            self._edit(end - len(_called(function)), end, new, node)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._replace(node, str(not node.value))
        elif isinstance(node.value, int):
            octal = self._code(node).startswith("0o")
            for new in (node.value + 1, node.value - 1):
                self._replace(node, oct(new) if octal else str(new) if new >= 0 else f"({new})")


def _called(node: ast.expr) -> str:
    """Return the last part of a name."""
    if isinstance(node, ast.Call | ast.Subscript):
        return _called(node.func if isinstance(node, ast.Call) else node.value)
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_pace(node: ast.expr | ast.stmt) -> bool:
    """Say whether some code is about when things are done: no test asserts a time, so that a slow machine fails none."""
    return any(isinstance(part, ast.Call) and _called(part.func) in CLOCKS for part in ast.walk(node))


def _is_docstring(node: ast.stmt) -> bool:
    """Say whether a statement is a docstring, or three dots."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_text(node: ast.expr) -> bool:
    """Say whether an operand is written as text: joining it otherwise fails at once, which shows nothing."""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _names(target: ast.expr) -> list[str]:
    """Return the names that an assignment gives; none if it changes an attribute or an item."""
    if isinstance(target, ast.Tuple | ast.List):
        parts = [_names(part) for part in target.elts]
        return [name for part in parts for name in part] if all(parts) else []
    return [target.id] if isinstance(target, ast.Name) else []


def _assigned_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
