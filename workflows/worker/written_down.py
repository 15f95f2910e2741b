"""Settings that an adapter's source writes down: `"compilation": "eager"` reads nothing back.

Only the source is read. The expression of a setting's value is followed through assignments,
arguments and functions of the adapter's own. The setting counts as read back if this reaches a call
or an attribute of what the adapter imports, or of an object whose origin it does not show. A single
literal counts as written down, whatever decides between it and "n/a". So does "n/a" itself, unless
something that is read may have given it.
"""

import ast
import builtins
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from functools import cache
from itertools import zip_longest
from typing import NamedTuple

from frameworks.contract import Framework, Setting
from workflows.worker.sources import sources

NOTHING = "n/a"  # the framework does not have the setting
CONVERSIONS = ("str", "bool", "int", "float")
# What an adapter is asked for, by the contract's names: to repeat it reads nothing back.
ASKED = ("conditions", "workload", "variant", "precision")
LONGEST = 1000  # characters of a text that is put together
CALLED = ("restart", "put", "step")  # with arrays of the harness
# Modules whose functions say nothing about a framework.
PLAIN = ("frameworks.contract", "frameworks.conditions", "frameworks.description",
         "frameworks.workloads", "collections", "copy", "dataclasses", "enum", "functools",
         "itertools", "json", "operator", "re", "string", "types", "typing")  # fmt: skip
Values = set[Setting] | None  # None: not known before it runs
Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = Function | None


class Origin(IntEnum):
    """Where a value comes from: the source or the harness; an object that the source does not show;
    or the framework. Whatever such an object is asked for is the framework's."""

    WRITTEN = 0
    UNKNOWN = 1
    READ = 2


class Written(NamedTuple):
    value: Setting
    place: str  # `adapter.py:41`


class Entry(NamedTuple):
    """An expression that becomes a setting's value."""

    values: Values
    read: bool
    place: str

    def gives(self, value: Setting) -> bool:
        """Whether it is a literal, or a choice between literals that nothing live decides."""
        telling = (self.values or set()) - ({NOTHING} - {value})
        return any(one == value and isinstance(one, bool) == isinstance(value, bool)
                   for one in telling if len(telling) == 1 or not self.read)  # fmt: skip


def written_down(description: Framework, settings: Mapping[str, Setting]) -> dict[str, Written]:
    """The settings in effect whose values no way through the source reads back."""
    found = entries_of(description.adapter.partition(":")[0])
    written = {}
    for name, value in settings.items():
        own = [one for one in found.get(name, []) if value == NOTHING or one.values != {NOTHING}]
        if value == NOTHING and any(one.read for one in own):
            continue
        own = own or found.get("", [])
        places = [one.place for one in own if one.gives(value)]
        if not any(one.read for one in own):
            places += [one.place for one in own if one.values is None]
        if places:
            written[name] = Written(value, places[0])
    return written


@cache
def entries_of(module: str) -> dict[str, list[Entry]]:
    """What `settings()` gives, by setting or "" if only a run tells it; none if unreadable."""
    try:
        return Source(module).entries()
    except (ImportError, OSError, SyntaxError, ValueError, RecursionError):
        return {}


class Source:
    """An adapter's files, with everything that they define by its name."""

    def __init__(self, module: str) -> None:
        self.functions: dict[str, list[Function]] = defaultdict(list)
        self.classes: dict[str, list[ast.ClassDef]] = defaultdict(list)
        self.constants: dict[str, list[ast.expr]] = defaultdict(list)  # of modules and classes
        self.attributes: dict[str, list[ast.expr]] = defaultdict(list)  # of self
        self.calls: dict[str, list[ast.Call]] = defaultdict(list)
        self.assigned: dict[Scope, list[tuple[ast.expr, ast.expr]]] = defaultdict(list)
        self.scope: dict[ast.AST, Scope] = {}  # the innermost function around a node
        self.owner: dict[ast.AST, str] = {}  # the class of a method
        self.imported: dict[str, Origin] = {}  # by the name that a file gives it
        self.file: dict[ast.AST, str] = {}
        self.known: dict[tuple[str, Scope], Values] = {}  # of `named`
        self.package = module.rpartition(".")[0]
        self.first = self.package or module
        for file in sources(module):
            self.enter(ast.parse(file.read_text("utf-8")), None, file.name)

    def enter(self, node: ast.AST, scope: Scope, file: str) -> None:
        self.file[node], self.scope[node] = file, scope
        if isinstance(node, Function):
            self.functions[node.name].append(node)
            scope = node
        elif isinstance(node, ast.ClassDef | ast.Module):
            for target, value in (pair for one in node.body for pair in targets(one)):
                if isinstance(target, ast.Name):
                    self.constants[target.id].append(value)
            for method in node.body:
                self.owner[method] = getattr(node, "name", "")
            if isinstance(node, ast.ClassDef):
                self.classes[node.name].append(node)
        elif isinstance(node, ast.Call):
            self.calls[named(node.func)].append(node)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            base = "" if isinstance(node, ast.Import) else "." * node.level + (node.module or "")
            for alias in node.names:
                plain = self.plain(base or alias.name)
                name = alias.asname or alias.name.partition(".")[0]
                self.imported[name] = Origin.WRITTEN if plain else Origin.READ
        for target, value in targets(node):
            self.assigned[scope].append((target, value))
            if isinstance(target, ast.Attribute) and is_self(target.value):
                self.attributes[target.attr].append(value)
        for child in ast.iter_child_nodes(node):
            self.enter(child, scope, file)

    def plain(self, module: str) -> bool:
        """Whether a module is the adapter's own, or one that says nothing about a framework."""
        own = (".", f"{self.first}." if self.package else self.first)
        return f"{module}.".startswith((*own, *(f"{one}." for one in PLAIN)))

    def entries(self) -> dict[str, list[Entry]]:
        found: dict[str, list[Entry]] = defaultdict(list)
        for scope, node in self.reached():
            for name, value in entries(node):
                values = self.values(value, scope)
                if not self.is_code(value) and (name or not self.reaches(value)):
                    read = self.origin(value, set()) == Origin.READ
                    found[name].append(Entry(values, read, f"{self.file[node]}:{value.lineno}"))
        return found

    def is_code(self, node: ast.expr) -> bool:
        """Whether it names a function or a class, as in a table of layers."""
        name = named(node)
        other = self.attributes[name] if isinstance(node, ast.Attribute) else self.local(node, name)
        found = [*self.functions[name], *self.classes[name]]
        by = [named(decorator) for one in found for decorator in one.decorator_list]
        return bool(found) and not other and not any("property" in one for one in by)

    def reached(self) -> Iterator[tuple[Scope, ast.AST]]:
        """Everything that a call of `settings` may run or look up, by names alone."""
        names, waiting = set[str](), ["settings"]
        while waiting:
            name = waiting.pop()
            if name in names:
                continue
            names.add(name)
            for one in [*self.functions[name], *self.constants[name], *self.attributes[name]]:
                scope = one if isinstance(one, Function) else self.scope[one]
                for node in ast.walk(one):
                    yield scope, node
                    waiting += [getattr(node, "id", ""), getattr(node, "attr", "")]

    def reaches(self, node: ast.expr) -> bool:
        """Whether all of a dict comes from pieces of source whose own entries are found."""
        match node:
            case ast.Dict() | ast.DictComp() | ast.Call(func=ast.Attribute(attr="fromkeys")):
                return True
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")))):
                return False
            case ast.Call(func=function):
                return is_name(function, "dict") or bool(self.functions[named(function)])
            case ast.Name(id=name):
                found = self.local(node, name) or self.constants[name]
            case ast.Attribute(value=owner, attr=name) if is_self(owner):
                found = [*self.attributes[name], *self.constants[name]]
            case _:
                return False
        return bool(found) and all(isinstance(x, ast.expr) and self.reaches(x)
                                   for x in found if not is_name(x, named(node)))  # fmt: skip

    def origin(self, node: ast.AST, seen: set[ast.AST]) -> Origin:
        """Where the value of an expression comes from, or that of a function's results."""
        if node in seen:
            return Origin.WRITTEN
        seen.add(node)

        def most(nodes: Iterable[ast.AST]) -> Origin:
            return max((self.origin(one, seen) for one in nodes), default=Origin.WRITTEN)

        match node:
            case ast.Name(id="super"):
                return Origin.READ
            case ast.Name(id=name):
                if (found := self.local(node, name)) is not None:
                    return most(found) if found else Origin.UNKNOWN
                if found := [*self.constants[name], *self.functions[name], *self.classes[name]]:
                    return most(found)
                if name in ASKED or hasattr(builtins, name):
                    return Origin.WRITTEN
                return self.imported.get(name, Origin.UNKNOWN)
            case ast.ClassDef(bases=bases):
                return Origin(most(bases) // Origin.READ * Origin.READ)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return most(deciding(node))
            case ast.Attribute(value=owner, attr=name):
                ours = [*self.attributes[name], *self.constants[name], *self.functions[name]]
                if is_self(owner) or (isinstance(owner, ast.Name) and self.classes.get(owner.id)):
                    return most(ours) if ours else Origin.UNKNOWN
                of = self.origin(owner, seen)
                return max(Origin.READ if of else of, most(ours))
            case ast.Call(ast.Name("getattr"), [owner, ast.Constant(str(name)), *more]):
                return most([ast.Attribute(owner, name, ast.Load()), *more])
            case ast.Call(func=function, args=given, keywords=by_name):
                called = self.origin(function, seen)
                whose = getattr(function, "value", function)  # a method of its own is no reading
                if called == Origin.UNKNOWN and not is_self(whose):
                    return Origin.READ
                return max(called, most([*given, *(one.value for one in by_name)]))
        return most(ast.iter_child_nodes(node))

    def local(self, node: ast.AST, name: str) -> list[ast.AST] | None:
        """What a name stands for in a function and the functions around it, None if nothing."""
        scope = self.scope.get(node)
        while scope:
            found = [v for target, v in self.assigned[scope] if is_name(target, name)]
            given = [one.arg for one in parameters(scope)]
            if name in given and scope.name in CALLED:
                return []
            if name in given:
                found += self.arguments(scope, name, given.index(name))
                return None if not found and name in ASKED else [*found]
            if found:
                return [*found]
            scope = self.scope[scope]
        return None

    def arguments(self, function: Function, name: str, place: int) -> list[ast.expr]:
        """What a parameter is given, in every call of a function of that name, or by default."""
        owner = self.owner.get(function, "")
        place -= bool(owner and "staticmethod" not in map(named, function.decorator_list))
        own, found = function.args, list[ast.expr]()
        for call in self.calls[owner if function.name == "__init__" else function.name]:
            found += [one.value for one in call.keywords if one.arg == name]
            found += call.args[place : place + 1] if place >= 0 else []
        defaults = zip_longest(reversed([*own.posonlyargs, *own.args]), reversed(own.defaults))
        pairs = [*defaults, *zip(own.kwonlyargs, own.kw_defaults, strict=True)]
        return found + [value for one, value in pairs if value and one and one.arg == name]

    def values(self, node: ast.expr, scope: Function | None) -> Values:
        """The literals that an expression can have; None if it depends on anything else."""
        match node:
            case ast.Constant(value=str() | bool() | int() | float() as value):
                return {value}
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return {-value}
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
                known = self.assigned[scope] if scope else []
                local = [value for target, value in known if is_name(target, name)]
                return self.named(local or self.constants[name], name, scope)
            case ast.Attribute(attr=name, value=owner) if is_self(owner):
                return self.named(self.attributes[name] + self.constants[name], f".{name}")
        return None

    def named(self, found: list[ast.expr], key: str, scope: Function | None = None) -> Values:
        """The literals of what a name stands for, None if it leads back to itself."""
        if (key, scope) not in self.known:
            self.known[key, scope] = None  # while it is looked for
            self.known[key, scope] = self.union(found, scope) if found else None
        return self.known[key, scope]

    def union(self, nodes: list[ast.expr], scope: Function | None) -> Values:
        found = [self.values(node, scope) for node in nodes]
        return None if None in found else {one for values in found for one in values or ()}

    def only(self, node: ast.expr, scope: Function | None) -> Setting | None:
        values = self.values(node, scope)
        value = next(iter(values)) if values and len(values) == 1 else None
        return value if len(str(value)) <= LONGEST else None


def entries(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The names and values that a piece of source puts into a dict; "" if only a run tells the
    name."""
    pairs: list[tuple[ast.expr | None, ast.expr]] = []
    match node:
        case ast.Dict(keys=keys, values=values):
            pairs = [*zip(keys, values, strict=True)]
        case ast.DictComp(key=key, value=value):
            pairs = [(key, value)]
        case ast.Call(func=ast.Attribute(attr="fromkeys"), args=[names, value]):
            every = names.elts if isinstance(names, ast.List | ast.Tuple | ast.Set) else [None]
            pairs = [(one, value) for one in every]
        case ast.Call(func=ast.Attribute(attr="setdefault" | "__setitem__"), args=[key, value]):
            pairs = [(key, value)]
        case ast.Call(func=ast.Name(id="dict") | ast.Attribute(attr="update"), args=given):
            yield from ((one.arg or "", one.value) for one in node.keywords)
            yield from (("", one) for one in given if not hasattr(one, "elts"))
            listed = [one for many in given for one in getattr(many, "elts", [])]
            pairs = [(x.elts[0], x.elts[1]) for x in listed if len(getattr(x, "elts", [])) == 2]
        case ast.FunctionDef(name="settings"):  # what it returns may be no dict of the source
            pairs = [(None, value) for value in returned(node)]
        case _:
            for target, value in targets(node):
                if isinstance(target, ast.Subscript):
                    pairs.append((target.slice, value))
    for name, value in pairs:
        if not isinstance(name, ast.Constant):
            yield "", value
        elif isinstance(name.value, str):
            yield name.value, value


def targets(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets of an assignment, and their values. What is unpacked stands for the whole."""
    pairs: list[tuple[ast.expr, ast.expr]] = []
    if isinstance(node, ast.Assign):
        pairs = [(target, node.value) for target in node.targets]
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr | ast.AugAssign) and node.value:
        pairs = [(node.target, node.value)]
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        pairs = [(node.target, node.iter)]
    elif isinstance(node, ast.withitem) and node.optional_vars:
        pairs = [(node.optional_vars, node.context_expr)]
    while pairs:
        target, value = pairs.pop()
        if isinstance(target, ast.Starred):
            pairs.append((target.value, value))
        elif not isinstance(target, ast.Tuple | ast.List):
            yield target, value
        elif isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
            pairs += zip(target.elts, value.elts, strict=True)
        else:
            pairs += [(one, value) for one in target.elts]


def deciding(function: Function) -> Iterator[ast.AST]:
    """What a function returns, and what decides which."""
    for node in ast.walk(function):
        if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom) and node.value:
            yield node.value
        elif isinstance(node, ast.If | ast.While):
            yield node.test
        elif isinstance(node, ast.Match):
            yield node.subject
        elif isinstance(node, ast.For):
            yield node.iter


def parameters(function: Function) -> list[ast.arg]:
    own = function.args
    return [*own.posonlyargs, *own.args, *own.kwonlyargs, *filter(None, (own.vararg, own.kwarg))]


def returned(function: Function) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        if isinstance(node, ast.Return):
            yield node.value or ast.copy_location(ast.Constant(None), node)


def is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def is_self(node: ast.expr) -> bool:
    if named(getattr(node, "func", node)) in ("type", "__class__"):  # `type(self).X`
        node = [*getattr(node, "args", []), getattr(node, "value", node)][0]
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def named(node: ast.AST) -> str:
    """The name that a function is called by."""
    return str(getattr(node, "id", "") or getattr(node, "attr", ""))
