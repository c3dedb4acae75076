"""Which statements are matmuls: products of two tensors that sum a dim. Other products are
elementwise work, which is not counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from layoutc.dsl.operation import Product
from layoutc.dsl.program import Define, Type


@dataclass(frozen=True, slots=True)
class Matmul:
    """A product of two names; `dims` are its index space, those of both operands."""

    left: str
    right: str
    dims: tuple[str, ...]


def matmul(define: Define, types: Mapping[str, Type]) -> Matmul | None:
    """What a statement multiplies; None if it is no matmul. `types` are those of the program."""
    match define.operation:
        case Product(str(left), str(right)):
            dims = tuple(dict.fromkeys(types[left].shape.names + types[right].shape.names))
            if set(dims) > set(define.type.shape.names):
                return Matmul(left, right, dims)
        case _:
            pass
    return None
