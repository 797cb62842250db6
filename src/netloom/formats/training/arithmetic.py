"""Small sums that files write out: of a shell, and patterns of layers. Nothing is executed."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["layer_pattern", "shell_sum"]

MAX_CHARS: Final = 400
MAX_DIGITS: Final = 18
MAX_LAYERS: Final = 10_000


def shell_sum(text: str, value_of: Callable[[str], int | None]) -> int | None:
    """Return what ``$((text))`` comes to; None when that cannot be said.

    Args:
        text: Names and numbers, with ``+ - * / %`` and brackets.
        value_of: Returns the number a name stands for, or None.
    """
    tree = _parsed(text.replace("$", "").replace("{", "").replace("}", ""))
    return None if tree is None else _whole(tree, value_of)


def layer_pattern(text: str) -> tuple[int, ...] | None:
    """Return the list that a pattern such as ``([0]*3+[1]*58)`` writes out; None if it is none.

    The notation is Megatron-LM's (arguments.py, ``moe_freq_type``): lists of numbers, added and
    multiplied.
    """
    tree = _parsed(text)
    return None if tree is None else _listed(tree)


def _parsed(text: str) -> ast.expr | None:
    if len(text) > MAX_CHARS:
        return None
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _whole(tree: ast.expr, value_of: Callable[[str], int | None]) -> int | None:
    if isinstance(tree, ast.Constant) and type(tree.value) is int:
        return tree.value if len(str(tree.value)) <= MAX_DIGITS else None
    if isinstance(tree, ast.Name):
        return value_of(tree.id)
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        inner = _whole(tree.operand, value_of)
        return None if inner is None else -inner
    if isinstance(tree, ast.BinOp):
        left, right = _whole(tree.left, value_of), _whole(tree.right, value_of)
        return None if left is None or right is None else _applied(tree.op, left, right)
    return None


def _applied(operator: ast.operator, left: int, right: int) -> int | None:
    if isinstance(operator, ast.Add):
        found = left + right
    elif isinstance(operator, ast.Sub):
        found = left - right
    elif isinstance(operator, ast.Mult):
        found = left * right
    elif isinstance(operator, ast.Div) and right:
        found = int(left / right) if abs(left) < 2**50 else left // right
    elif isinstance(operator, ast.Mod) and right:
        found = left % right
    else:
        return None
    return found if abs(found) < 10**MAX_DIGITS else None


def _listed(tree: ast.expr) -> tuple[int, ...] | None:
    if isinstance(tree, ast.List):
        items = [one.value for one in tree.elts if isinstance(one, ast.Constant)]
        whole = tuple(item for item in items if type(item) is int)
        return whole if len(whole) == len(tree.elts) else None
    if not isinstance(tree, ast.BinOp):
        return None
    if isinstance(tree.op, ast.Add):
        left, right = _listed(tree.left), _listed(tree.right)
        found = None if left is None or right is None else left + right
    elif isinstance(tree.op, ast.Mult):
        found = _repeated(tree.left, tree.right)
    else:
        found = None
    return found if found is not None and len(found) <= MAX_LAYERS else None


def _repeated(left: ast.expr, right: ast.expr) -> tuple[int, ...] | None:
    items = _listed(left)
    times = right.value if isinstance(right, ast.Constant) else None
    if items is None or type(times) is not int or not 0 <= times <= MAX_LAYERS:
        return None
    return items * times if len(items) * times <= MAX_LAYERS else None
