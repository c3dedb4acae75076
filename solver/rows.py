"""Linear algebra over fractions, as much as minimising monomials takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

Matrix = list[list[Fraction]]


def reduced(matrix: Matrix) -> Iterator[tuple[list[Fraction], list[Fraction]]]:
    """The rows of the reduced echelon form that are not zero, each with how it was combined."""
    height, width = len(matrix), len(matrix[0])
    rows = [[*row, *(Fraction(i == j) for j in range(height))] for i, row in enumerate(matrix)]
    for row in _eliminated(rows, width):
        yield row[:width], row[width:]


def _eliminated(rows: Matrix, width: int) -> Matrix:
    """Gauss and Jordan over the first `width` columns; rows that are zero there are dropped."""
    done = 0
    for column in range(width):
        pivot = next((i for i in range(done, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[done], rows[pivot] = rows[pivot], rows[done]
        lead = rows[done][column]
        rows[done] = [entry / lead for entry in rows[done]]
        for i, row in enumerate(rows):
            if i != done and row[column]:
                by = row[column]
                rows[i] = [a - by * b for a, b in zip(row, rows[done], strict=True)]
        done += 1
    return rows[:done]


def circuits(vectors: Sequence[Sequence[int]]) -> Iterator[dict[int, Fraction] | None]:
    """The parts of `vectors` (by index) that are linearly independent of each other.

    A part that depends in one way only comes with that dependence: weights that add up to 1,
    or negative ones if they can't be positive. One that depends in no way comes with weights of
    -1; one that depends in several, as None.
    """
    columns: Matrix = [list(map(Fraction, row)) for row in zip(*vectors, strict=True)]
    rows = _eliminated(columns, len(vectors))
    pivots = [next(j for j, entry in enumerate(row) if entry) for row in rows]
    parts = [{pivot} for pivot in pivots]
    dependent = [j for j in range(len(vectors)) if j not in pivots]
    for j in dependent:
        touched = [part for part in parts if any(row[j] for p, row in _at(pivots, rows, part))]
        parts = [part for part in parts if part not in touched]
        parts.append({j}.union(*touched))
    for part in parts:
        free = [j for j in dependent if j in part]
        if len(free) > 1:
            yield None
        elif not free:
            yield dict.fromkeys(part, Fraction(-1))
        else:
            weights = {free[0]: Fraction(1)}
            weights |= {p: -row[free[0]] for p, row in _at(pivots, rows, part)}
            yield _normal(weights)


def _at(pivots: list[int], rows: Matrix, part: set[int]) -> list[tuple[int, list[Fraction]]]:
    return [(p, row) for p, row in zip(pivots, rows, strict=True) if p in part]


def _normal(weights: dict[int, Fraction]) -> dict[int, Fraction]:
    """Adding up to 1, if they are positive."""
    if any(weight <= 0 for weight in weights.values()):
        return weights
    total = sum(weights.values())
    return {j: weight / total for j, weight in weights.items()}
