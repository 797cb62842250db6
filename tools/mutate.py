"""Break netloom in many small places, one at a time, and see whether a test notices.

    .venv/bin/python tools/mutate.py --seed 1 --count 60 netloom.ops netloom.step

draws places from the modules of the packages named, an equal number from each (``a,b``: from both
together). A place is a
comparison, a sum or product, a number, ``not``, ``and``, ``min``, a branch or a statement; it is
turned into its opposite, put off by one, doubled or dropped. For each, the test files nearest by
imports run until one fails. No file is changed: pytest loads this script as a plugin, which hands
out the broken module when it is imported.

Equal seeds draw equal places while the source stays as it is. A test that fails is tried once more
with nothing broken, so that a test that always fails kills nothing.
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import CodeType, ModuleType

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCE: Final = ROOT / "src"
MUTANT: Final = "NETLOOM_MUTANT"  # module:place, for the plugin

COMPARISONS: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
ARITHMETIC: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
    ast.Pow: ast.Mult,
}
CALLS: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}
WAVE: Final = 12  # test files that run at once; the next only where these notice nothing
UNNOTICED: Final = (0, 5)  # pytest's status: all passed, and none was selected
PYTEST_OPTIONS: Final = (
    *("-x", "-q", "--tb=no", "--no-header", "-m", "not lab and not slow"),
    *("-p", "no:randomly", "-p", "no:cacheprovider", "-p", "mutate"),
)
# What only words, types and our own invariants depend on.
SKIPPED_FIELDS: Final = {"annotation", "returns", "decorator_list", "bases"}
SKIPPED: Final = (ast.JoinedStr, ast.Raise, ast.Assert, ast.Import, ast.ImportFrom)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """One place, and what becomes of it."""

    module: str
    place: int
    line: int
    before: str
    after: str

    @property
    def name(self) -> str:
        """What ``--only`` takes."""
        return f"{self.module}:{self.place}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the tests made of a mutation.

    Attributes:
        outcome: ``killed``, ``survived``, ``late`` where the time was over before a test failed,
            ``unclear`` where the test that failed fails with nothing broken too.
        by: The test that failed.
        num_files: Test files that were run, at most.
    """

    mutation: Mutation
    outcome: str
    by: str
    num_files: int


# ---- where a module can be broken -------------------------------------------------------------


def places(tree: ast.AST) -> list[tuple[ast.AST, ast.AST]]:
    """Return the nodes that can be replaced, each with what replaces it, in order of the source."""
    return [(node, other) for node in _nodes(tree) for other in _others(node)]


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Give the nodes that decide what is computed."""
    yield node
    for field, value in ast.iter_fields(node):
        if field in SKIPPED_FIELDS:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_skipped(child):
                yield from _nodes(child)


def _is_skipped(node: ast.AST) -> bool:
    if isinstance(node, ast.If) and _is_typing_only(node):
        return True
    if isinstance(node, ast.Assign):
        return any(isinstance(t, ast.Name) and t.id in {"__all__", "message"} for t in node.targets)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return node.value.id == "Literal"
    is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_docstring or isinstance(node, SKIPPED)


def _is_typing_only(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _others(node: ast.AST) -> Iterator[ast.AST]:
    """Give what a node becomes; nothing where it is left alone."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=right):
            for kind in COMPARISONS.get(type(op), ()):
                yield ast.Compare(left=left, ops=[kind()], comparators=right)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
            if not any(map(_is_text, (left, right))):
                yield ast.BinOp(left=left, op=ARITHMETIC[type(op)](), right=right)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(op=ast.Or() if isinstance(op, ast.And) else ast.And(), values=values)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=value):
            yield from map(ast.Constant, _numbers(value))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in CALLS:
            yield ast.Call(func=ast.Name(CALLS[name], ast.Load()), args=args, keywords=keywords)
        case _:
            yield from _other_statements(node)


def _other_statements(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.If(test=test, body=body, orelse=orelse):
            yield ast.If(test=ast.UnaryOp(op=ast.Not(), operand=test), body=body, orelse=orelse)
        case ast.AugAssign() | ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case _:
            pass


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _numbers(value: object) -> Iterator[int | float | bool]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, float):
        yield 2 * value or 1.0


class _Swap(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        if node is self.old:
            return ast.copy_location(self.new, node)
        return self.generic_visit(node)


def broken(module: str, place: int) -> CodeType:
    """Return the code of *module* with one place replaced."""
    path = path_of(module)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    old, new = places(tree)[place]
    changed = ast.fix_missing_locations(_Swap(old, new).visit(tree))
    code: CodeType = compile(changed, path, "exec")
    return code


def mutations_of(module: str) -> list[Mutation]:
    """Return all that can be done to *module*."""
    tree = ast.parse(path_of(module).read_text(encoding="utf-8"))
    return [
        Mutation(
            module=module, place=place, line=old.lineno, before=_words(old), after=_words(new)
        )  # every node that is replaced is an expression or a statement
        for place, (old, new) in enumerate(places(tree))
        if isinstance(old, ast.expr | ast.stmt)
    ]


def _words(node: ast.AST) -> str:
    line = ast.unparse(ast.fix_missing_locations(node)).splitlines()[0]
    return line if len(line) < 90 else f"{line[:87]}..."


def drawn(packages: Sequence[str], count: int, seed: int) -> list[Mutation]:
    """Return *count* mutations, one of each package in turn, no place twice."""
    from numpy.random import default_rng  # noqa: PLC0415 (not for the plugin)

    rng = default_rng(seed)
    pools = []
    for package in packages:
        modules = [module for name in package.split(",") for module in modules_under(name)]
        found = [one for module in modules for one in mutations_of(module)]
        pools.append([found[index] for index in rng.permutation(len(found))])
    chosen: list[Mutation] = []
    while len(chosen) < count and any(pools):
        for pool in pools:
            if pool and len(chosen) < count:
                chosen.append(_next(pool, chosen))
    return chosen


def _next(pool: list[Mutation], chosen: Sequence[Mutation]) -> Mutation:
    """Take one from the pool, on a line that has none yet if there is such a line."""
    taken = {(one.module, one.line) for one in chosen}
    fresh = (n for n in range(len(pool)) if (pool[n].module, pool[n].line) not in taken)
    return pool.pop(next(fresh, 0))


# ---- which tests may notice -------------------------------------------------------------------


def path_of(module: str) -> Path:
    """Return the file of a module or package."""
    path = SOURCE.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def modules_under(package: str) -> list[str]:
    """Return the modules of a package, or the module itself."""
    folder = SOURCE.joinpath(*package.split("."))
    if not folder.is_dir():
        if not path_of(package).is_file():
            sys.exit(f"{package}: there is no such module under {SOURCE}; name one of netloom")
        return [package]
    parts = (path.relative_to(SOURCE).with_suffix("").parts for path in folder.rglob("*.py"))
    return sorted(".".join(names).removesuffix(".__init__") for names in parts)


@cache
def imports_of(path: Path) -> frozenset[str]:
    """Return the modules of netloom that a file imports when it runs, wherever it does."""
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and _is_typing_only(node):
            waiting += node.orelse
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {_module(node.module, alias.name) for alias in node.names}
        waiting += ast.iter_child_nodes(node)
    return frozenset(name for name in found if name.split(".")[0] == "netloom")


def _module(package: str, name: str) -> str:
    whole = f"{package}.{name}"
    return whole if path_of(whole).is_file() else package


@cache
def users() -> dict[str, list[str]]:
    """Return who imports a module: other modules, and test files by their path."""
    found = defaultdict(list)
    for module in modules_under("netloom"):
        for used in imports_of(path_of(module)):
            found[used].append(module)
    for path in sorted(ROOT.glob("tests/**/test_*.py")):
        for used in imports_of(path):
            found[used].append(str(path.relative_to(ROOT)))
    return dict(found)


@cache
def nearest_tests(module: str, most: int) -> tuple[str, ...]:
    """Return the test files that reach *module* by the fewest imports, the narrowest first."""
    tests: list[str] = []
    seen, edge = {module}, [module]
    while edge and len(tests) < most:
        reached = {user for one in edge for user in users().get(one, ())} - seen
        seen |= reached
        files = {one for one in reached if one.endswith(".py") and "/lab/" not in one}
        tests += sorted(files, key=lambda one: (len(imports_of(ROOT / one)), one))
        edge = sorted(reached - files)
    return tuple(tests[:most])


# ---- one mutation after the other -------------------------------------------------------------


def judge(mutation: Mutation, *, most_files: int, timeout_s: float) -> Verdict:
    """Return whether the tests near a mutation notice it."""
    files = nearest_tests(mutation.module, most_files)
    verdict = Verdict(mutation=mutation, outcome="survived", by="", num_files=len(files))
    for some in batched(files, WAVE):
        status, output = pytest(some, mutation=mutation, timeout_s=timeout_s)
        if status is None:
            return replace(verdict, outcome="late")
        if status not in UNNOTICED:
            failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", output, re.MULTILINE)
            by = failed[1] if failed else ""
            is_sound = not by or passes(by, timeout_s)
            return replace(verdict, outcome="killed" if is_sound else "unclear", by=by)
    return verdict


def batched(files: Sequence[str], size: int) -> list[Sequence[str]]:
    """Return the files in order, *size* at a time."""
    return [files[start : start + size] for start in range(0, len(files), size)]


@cache
def passes(test: str, timeout_s: float) -> bool:
    """Return whether a test passes with nothing broken."""
    return pytest([test], mutation=None, timeout_s=timeout_s)[0] == 0


def pytest(
    tests: Iterable[str], *, mutation: Mutation | None, timeout_s: float
) -> tuple[int | None, str]:
    """Return pytest's status and output; no status where the time was over."""
    command = ["nice", "-n", "5", sys.executable, "-m", "pytest", *PYTEST_OPTIONS, *tests]
    paths = os.pathsep.join([str(ROOT / "tools"), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": paths, MUTANT: mutation.name if mutation else ""}
    with subprocess.Popen(  # noqa: S603
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            return None, ""
        finally:  # also on Ctrl-C: whatever the tests themselves have started
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, output


def table(verdicts: Sequence[Verdict]) -> str:
    """Return the score, and what was not noticed, as Markdown."""
    count = Counter(one.outcome for one in verdicts)
    clear = len(verdicts) - count["unclear"]
    rest = ", ".join(f"{count[one]} {one}" for one in ("survived", "late", "unclear"))
    lines = [
        f"{count['killed']} of {clear} killed ({rest})",
        "",
        "| place | line | before | after | outcome | test |",
        "|---|---|---|---|---|---|",
    ]
    for one in verdicts:
        what = one.mutation
        cells = (f"`{text.replace('|', chr(92) + '|')}`" for text in (what.before, what.after))
        row = (what.name, str(what.line), *cells, one.outcome, one.by)
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def main() -> None:
    """Read the options, judge one mutation after the other, and print the score."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("packages", nargs="*", help="such as netloom.ops")
    options.add_argument("--count", type=int, default=60)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", nargs="+", default=[], help="module:place of such a table")
    options.add_argument("--files", type=int, default=36, help="test files a mutation, at most")
    options.add_argument("--timeout", type=float, default=300.0, help="seconds a dozen test files")
    options.add_argument("--list", action="store_true", help="draw, and run nothing")
    options.add_argument("--json", type=Path, help="write the verdicts there, as they come")
    asked = options.parse_args()
    chosen = [_named(name) for name in asked.only] or drawn(asked.packages, asked.count, asked.seed)
    if asked.list:
        for one in chosen:
            print(f"{one.name} {one.line}: {one.before} -> {one.after}")
        return
    verdicts: list[Verdict] = []
    with suppress(KeyboardInterrupt):  # what was judged so far is told
        for number, mutation in enumerate(chosen, 1):
            verdicts.append(judge(mutation, most_files=asked.files, timeout_s=asked.timeout))
            print(
                f"{number}/{len(chosen)} {mutation.name}: {verdicts[-1].outcome}", file=sys.stderr
            )
            if asked.json:
                asked.json.write_text(json.dumps([asdict(one) for one in verdicts], indent=1))
    print(table(verdicts))


def _named(name: str) -> Mutation:
    module, _, place = name.rpartition(":")
    return next(one for one in mutations_of(module) if one.place == int(place))


# ---- the plugin -------------------------------------------------------------------------------


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, module: str, place: int) -> None:
        super().__init__(module, str(path_of(module)))
        self.place = place

    def get_code(self, fullname: str) -> CodeType:
        return broken(fullname, self.place)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the one module that is broken; all others are found as ever."""

    def __init__(self, module: str, place: int) -> None:
        self.module, self.place = module, place

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.module:
            return None
        loader = _Loader(self.module, self.place)
        return importlib.util.spec_from_file_location(fullname, loader.path, loader=loader)


def pytest_configure() -> None:
    """Try the same examples every time, and do not look for the smallest that fails."""
    from hypothesis import Phase, settings  # noqa: PLC0415 (only where tests run)

    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("mutant", deadline=None, derandomize=True, phases=phases)
    settings.load_profile("mutant")


if os.environ.get(MUTANT) and __name__ != "__main__":
    _broken, _, _at = os.environ[MUTANT].rpartition(":")
    sys.meta_path.insert(0, _Finder(_broken, int(_at)))

if __name__ == "__main__":
    main()
