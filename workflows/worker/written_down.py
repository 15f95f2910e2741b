"""Settings that an adapter's source writes down: `"compilation": "eager"` reads nothing back.

Only the source is read. A setting counts as written down if every way to its value ends at the
same literal: in the dict itself, a constant, an attribute of `self`, or a function of the adapter's
own. A choice between several literals counts as read, because what it depends on may be live.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from frameworks.contract import Framework, Setting
from workflows.worker.sources import sources

NOTHING = "n/a"  # the framework does not have the setting
CONVERSIONS = ("str", "bool", "int", "float")
Values = set[Setting] | None  # None: not known before it runs
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Written(NamedTuple):
    value: Setting
    place: str  # `adapter.py:41`


def written_down(description: Framework, settings: Mapping[str, Setting]) -> dict[str, Written]:
    """Of the settings in effect, those whose values stand in the adapter's source as they are."""
    found = literals(description.adapter.partition(":")[0])
    return {
        name: one
        for name, value in settings.items()
        for one in found.get(name, ())
        if one.value == value and isinstance(value, bool) == isinstance(one.value, bool)
    }


@cache
def literals(module: str) -> dict[str, list[Written]]:
    """All literals that `settings()` gives, by setting; none if the source cannot be read."""
    try:
        return Source(sources(module)).literals()
    except (ImportError, OSError, SyntaxError, ValueError, RecursionError):
        return {}


class Source:
    """An adapter's files, with everything that they define by its name."""

    def __init__(self, files: list[Path]) -> None:
        self.functions: dict[str, list[Function]] = defaultdict(list)
        self.constants: dict[str, list[ast.expr]] = defaultdict(list)  # of modules and classes
        self.attributes: dict[str, list[ast.expr]] = defaultdict(list)  # of self
        self.file: dict[ast.AST, str] = {}
        self.looking: set[str] = set()
        for file in files:
            tree = ast.parse(file.read_text())
            for node in ast.walk(tree):
                self.file[node] = file.name
                if isinstance(node, Function):
                    self.functions[node.name].append(node)
                elif isinstance(node, ast.ClassDef | ast.Module):
                    for name, value in assigned(node.body):
                        self.constants[name].append(value)
                for target, value in targets(node):
                    if isinstance(target, ast.Attribute) and is_self(target.value):
                        self.attributes[target.attr].append(value)

    def literals(self) -> dict[str, list[Written]]:
        found: dict[str, list[Written]] = defaultdict(list)
        for scope, node in self.reached():
            for name, value in entries(node):
                values = self.values(value, scope)
                telling = (values or set()) - {NOTHING}
                if values is not None and len(telling) == 1:
                    place = f"{self.file[node]}:{value.lineno}"
                    found[name].append(Written(telling.pop(), place))
        return found

    def reached(self) -> Iterator[tuple[Function | None, ast.AST]]:
        """Everything that a call of `settings` may run or look up, by names alone."""
        names, waiting = set[str](), ["settings"]
        while waiting:
            name = waiting.pop()
            if name in names:
                continue
            names.add(name)
            defined = [*self.functions[name], *self.constants[name]]
            for one in defined:
                scope = one if isinstance(one, Function) else None
                for node in ast.walk(one):
                    yield scope, node
                    waiting += [getattr(node, "id", ""), getattr(node, "attr", "")]

    def values(self, node: ast.expr, scope: Function | None) -> Values:
        """The literals that an expression can have; None if it depends on anything else."""
        match node:
            case ast.Constant(value=str() | bool() | int() | float() as value):
                return {value}
            case ast.JoinedStr(values=parts):
                texts = [self.only(part, scope) for part in parts]
                return None if None in texts else {"".join(map(str, texts))}
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                both = self.only(left, scope), self.only(right, scope)
                return {both[0] + both[1]} if all(isinstance(x, str) for x in both) else None  # type: ignore[operator]
            case ast.IfExp(body=one, orelse=other):
                return self.union([one, other], scope)
            case ast.BoolOp(values=parts):
                return self.union(parts, scope)
            case ast.Call(func=ast.Name(id=name), args=[only], keywords=[]) if name in CONVERSIONS:
                return self.values(only, scope)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                given = [value for one in self.functions[name] for value in returned(one)]
                return self.named(given, f"{name}()")
            case ast.Name(id=name):
                local = [value for target, value in all_targets(scope) if is_name(target, name)]
                return self.named(local or self.constants[name], name, scope)
            case ast.Attribute(attr=name, value=owner) if is_self(owner):
                return self.named(self.attributes[name] + self.constants[name], f".{name}")
        return None

    def named(self, found: list[ast.expr], key: str, scope: Function | None = None) -> Values:
        """The literals of what a name stands for, None if it leads back to itself."""
        if not found or key in self.looking:
            return None
        self.looking.add(key)
        try:
            return self.union(found, scope)
        finally:
            self.looking.remove(key)

    def union(self, nodes: list[ast.expr], scope: Function | None) -> Values:
        found = set[Setting]()
        for node in nodes:
            values = self.values(node, scope)
            if values is None:
                return None
            found |= values
        return found

    def only(self, node: ast.expr, scope: Function | None) -> Setting | None:
        values = self.values(node, scope)
        return next(iter(values)) if values and len(values) == 1 else None


def entries(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The names and values that a piece of source puts into a dict."""
    match node:
        case ast.Dict(keys=keys, values=values):
            pairs: list[tuple[ast.expr | None, ast.expr]] = [*zip(keys, values, strict=True)]
        case ast.Call(func=ast.Name(id="dict") | ast.Attribute(attr="update"), keywords=named):
            yield from ((one.arg, one.value) for one in named if one.arg)
            return
        case ast.Assign(targets=[ast.Subscript(slice=key)], value=value):
            pairs = [(key, value)]
        case _:
            return
    for name, value in pairs:
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            yield name.value, value


def targets(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What an assignment assigns, and what to."""
    if isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets)
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value:
        yield node.target, node.value


def all_targets(scope: Function | None) -> Iterator[tuple[ast.expr, ast.expr]]:
    for node in ast.walk(scope) if scope else ():
        yield from targets(node)


def assigned(body: list[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for node in body:
        for target, value in targets(node):
            if isinstance(target, ast.Name):
                yield target.id, value


def returned(function: Function) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        if isinstance(node, ast.Return):
            yield node.value or ast.Constant(None)


def is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")
