"""JAX's profiler: how long each instruction of the compiled step ran.

The profiler only knows an instruction's name, such as `fusion.12`. What it is stands in the
compiled program, in XLA's notation:

    %fusion.12 = f32[8]{0} fusion(%dot.3), calls=%fused.7, metadata={op_name="jit(update)/add"}
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax

from frameworks import operations
from frameworks.operations import Event

NS = 1e-9
INSTRUCTION = re.compile(
    r"^\s*(?P<root>ROOT )?%(?P<name>[\w.-]+) = (?:\(.*?\)|\S+) (?P<opcode>[\w-]+)"
    r"\((?P<operands>[^)]*)\)(?P<rest>.*)"
)
COMPUTATION = re.compile(r"^(?:ENTRY )?%(?P<name>[\w.-]+) \(.*\{$")
CALLS, OP_NAME = re.compile(r"calls=%([\w.-]+)"), re.compile(r'op_name="([^"]*)"')
RENAMES = ("bitcast", "get-tuple-element", "tuple")  # which only give another name to numbers


def seconds(run: Callable[[], None], program: str) -> dict[str, float]:
    """Seconds by the names of `Program.names`; `program` is the compiled program as text."""
    names = Program.read(program).names
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, profiler_options=options):
            run()
        (path,) = Path(folder).rglob("*.xplane.pb")
        found = jax.profiler.ProfileData.from_file(str(path))
        lines = [line for plane in found.planes for line in plane.lines]
        return operations.seconds((ran(line, names) for line in lines), NS)


def ran(line: Any, names: dict[str, str]) -> Iterator[Event]:
    for event in line.events:
        if any(key == "hlo_op" for key, _ in event.stats):
            name = names.get(event.name, event.name)
            yield Event(name, event.start_ns, event.start_ns + event.duration_ns)


@dataclass
class Instruction:
    opcode: str
    op_name: str
    operands: list[str]
    calls: str
    users: list[str] = field(default_factory=list)


@dataclass
class Program:
    """Instructions by name, and the root instruction of each computation."""

    instructions: dict[str, Instruction]
    roots: dict[str, str]

    @classmethod
    def read(cls, text: str) -> "Program":
        found, roots, computation = {}, {}, ""
        for line in text.splitlines():
            if header := COMPUTATION.match(line):
                computation = header["name"]
            elif one := INSTRUCTION.match(line):
                named, calls = OP_NAME.search(one["rest"]), CALLS.search(one["rest"])
                found[one["name"]] = Instruction(
                    one["opcode"],
                    named[1].replace(" ", "") if named else "",
                    re.findall(r"%([\w.-]+)", one["operands"]),
                    calls[1] if calls else "",
                )
                if one["root"]:
                    roots[computation] = one["name"]
        for name, instruction in found.items():
            for operand in set(instruction.operands) & set(found):
                found[operand].users.append(name)
        return cls(found, roots)

    @cached_property
    def names(self) -> dict[str, str]:
        """`convolution jit(update)/jvp()/conv_general_dilated > jit(update)/jvp()/add`: what it
        does (of a fusion, its last operation), the JAX function it comes from, and those that
        use its result."""
        return {
            name: f"{self.does(name)} {one.op_name or '-'} > {', '.join(self.used_by(name)) or '-'}"
            for name, one in self.instructions.items()
        }

    def does(self, name: str) -> str:
        one = self.instructions[name]
        if one.opcode in RENAMES and one.operands:
            return self.does(one.operands[0])
        return self.does(self.roots[one.calls]) if one.calls in self.roots else one.opcode

    def used_by(self, name: str) -> list[str]:
        """The JAX functions, looking through instructions that have none."""
        found: set[str] = set()
        left, seen = [name], {name}
        while left:
            for user in self.instructions[left.pop()].users:
                if user not in seen:
                    seen.add(user)
                    if own := self.instructions[user].op_name:
                        found.add(own)
                    else:
                        left.append(user)
        return sorted(found)
