"""The codes that the code gives to reasons, found in its syntax: no list has to be kept by hand."""

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache

from app import errors
from tests.docs.pages import PROJECT

REASONS = {"Reason", "ReasonOut"}
_CODE = re.compile(r"[a-z]+(-[a-z]+)*")


def problem_codes() -> dict[str, int]:
    """Every problem code with its status, of the error tree."""
    return {error.code: error.status for error in _subclasses(errors.SufficeError)}


def _subclasses(of: type[errors.SufficeError]) -> Iterator[type[errors.SufficeError]]:
    yield of
    for one in of.__subclasses__():
        yield from _subclasses(one)


@cache
def reason_codes() -> dict[str, set[str]]:
    """Every literal code of a reason, with the modules that give it."""
    found: dict[str, set[str]] = {}
    for path in sorted((PROJECT / "app").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if any(name in text for name in REASONS):
            for code in _codes_in(ast.parse(text)):
                found.setdefault(code, set()).add(path.relative_to(PROJECT).as_posix())
    return found


def _codes_in(tree: ast.Module) -> set[str]:
    places = _parameters_named_code(tree)
    of_the_module = _assignments([node for node in tree.body if isinstance(node, ast.Assign)])
    codes: set[str] = set()
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    constants = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    for scope in (*functions, *constants):
        nodes = list(ast.walk(scope))
        arguments = [each for node in nodes if isinstance(node, ast.Call) for each in _code_arguments(node, places)]
        if arguments:
            assigned = of_the_module | _assignments(nodes)
            codes |= {code for each in arguments for code in _strings(each, assigned) if _CODE.fullmatch(code)}
    return codes


def _parameters_named_code(tree: ast.Module) -> dict[str, int]:
    """Functions of the module with a parameter `code`, and its place."""
    return {
        node.name: [argument.arg for argument in node.args.args].index("code")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and "code" in [argument.arg for argument in node.args.args]
    }


def _code_arguments(call: ast.Call, places: dict[str, int]) -> list[ast.expr]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    place = 0 if name in REASONS else places.get(name)
    if place is None:
        return []
    named = [keyword.value for keyword in call.keywords if keyword.arg == "code"]
    return named or call.args[place : place + 1]


def _assignments(nodes: Sequence[ast.AST]) -> dict[str, list[ast.expr]]:
    """What each name may stand for: by assignment, or as a loop over a tuple of tuples goes through it."""
    found: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node.value)
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Tuple) and isinstance(node.iter, ast.Tuple):
            for row in node.iter.elts:
                for name, value in zip(node.target.elts, getattr(row, "elts", ()), strict=False):
                    if isinstance(name, ast.Name):
                        found.setdefault(name.id, []).append(value)
    return found


def _strings(node: ast.expr, assigned: dict[str, list[ast.expr]], depth: int = 3) -> set[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return {node.value}
    if isinstance(node, ast.IfExp):
        return _strings(node.body, assigned, depth) | _strings(node.orelse, assigned, depth)
    if isinstance(node, ast.Name) and depth:
        return set().union(*(_strings(each, assigned, depth - 1) for each in assigned.get(node.id, ())))
    return set()
