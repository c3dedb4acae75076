"""Least squares of times that are sums of parts, none of them negative, among which some are wrong.

A time is predicted as the sum of `columns` times parameters: so many starts, so many hops, so many
seconds for a byte. Errors are relative, so that a small message counts as much as a large one:
what is minimised is the logarithm of predicted over measured, under a loss that grows no faster
than linearly. A sample that is far from where the fit and the rest of its own series put it is left
out, and named.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

FAR = 6.0
"""A sample so many times the usual spread away from its series is left out."""

USUAL = 0.03
"""The least spread that is taken to be usual: no clock is so good that less is worth a word."""

LEVEL = 0.95
"""That of the intervals."""


@dataclass(frozen=True, slots=True)
class Design:
    """What each sample is made of: `columns` [samples, parameters]. Of those that are `rivals` in a
    sample only the largest counts: what goes through two tiers at once waits for the slower."""

    columns: Array
    rivals: Mask

    def of(self, chosen: Mask) -> Design:
        """The chosen samples alone."""
        return Design(self.columns[chosen], self.rivals[chosen])

    def counted(self, values: Array) -> Array:
        """The columns with 0 for those of rivals that don't count."""
        parts = np.where(self.rivals, self.columns * values, -1.0)
        slower = self.rivals & (np.arange(len(values)) != parts.argmax(axis=1)[:, None])
        return np.where(slower, 0.0, self.columns)

    def predicted(self, values: Array) -> Array:
        """The time of each sample in seconds."""
        found: Array = self.counted(values) @ values
        return found


@dataclass(frozen=True, slots=True)
class Estimate:
    """A parameter and its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Fitted:
    """The parameters, the predicted times, and which samples were left out."""

    estimates: tuple[Estimate, ...]
    predicted: Array
    outliers: Mask


def fitted(design: Design, seconds: Array, series: Sequence[Hashable]) -> Fitted:
    """The parameters that fit the times best; samples of one of `series` are likely to be off
    alike."""
    numbers = {name: i for i, name in enumerate(dict.fromkeys(series))}
    groups = np.array([numbers[name] for name in series])
    kept = np.ones(len(seconds), bool)
    values = _solved(design, seconds)
    for _ in range(4):
        found = ~_outlying(np.log(design.predicted(values) / seconds), groups)
        if (found == kept).all():
            break
        kept = found
        values = _solved(design.of(kept), seconds[kept])
    errors = _errors(design.of(kept), values, seconds[kept], groups[kept])
    estimates = tuple(
        Estimate(float(v), float(max(0.0, v - e)), float(v + e))
        for v, e in zip(values, errors, strict=True)
    )
    return Fitted(estimates, design.predicted(values), ~kept)


def _solved(design: Design, seconds: Array) -> Array:
    """Non-negative parameters, by relative errors: linear first, then by logarithms."""
    from scipy.optimize import least_squares, nnls

    relative = design.columns / seconds[:, None]
    # In units in which each parameter alone would explain the median sample that it is in.
    parts = np.where(relative > 0, relative, np.nan)
    absent = np.isnan(parts).all(axis=0)
    unit = 1 / np.nanmedian(np.where(absent, 1.0, parts), axis=0)
    scaled = Design(design.columns * unit, design.rivals)
    first, _ = nnls(scaled.columns / seconds[:, None], np.ones(len(seconds)))

    def off(values: Array) -> Array:
        return np.log(np.maximum(scaled.predicted(values) / seconds, 1e-300))

    def slopes(values: Array) -> Array:
        found: Array = scaled.counted(values) / scaled.predicted(values)[:, None]
        return found

    start = np.where(absent, 0.0, np.maximum(first, 1e-3))
    spread = max(USUAL, _spread(off(start)))
    found = least_squares(
        off, start, slopes, bounds=(0, np.inf), loss="soft_l1", f_scale=spread, xtol=1e-12
    )
    values: Array = np.where(found.x < 1e-6, 0.0, found.x) * unit
    return values


def _outlying(off: Array, groups: NDArray[np.int_]) -> Mask:
    """The samples far from their series, by the median of what the others are away from theirs.

    A series that the model misses as a whole is no outlier: it counts.
    """
    centred = off.copy()
    for number in set(groups.tolist()):
        own = groups == number
        # The median of three is one of them, of two between them: they say nothing of each other.
        centred[own] -= np.median(off[own]) if own.sum() > 3 else 0.0
    far: Mask = np.abs(centred) > FAR * max(USUAL, _spread(centred))
    return far


def _spread(off: Array) -> float:
    """The median distance from 0, as the standard deviation of a normal distribution."""
    return 1.4826 * float(np.median(np.abs(off)))


def _errors(design: Design, values: Array, seconds: Array, groups: NDArray[np.int_]) -> Array:
    """Half the width of each parameter's interval.

    Where a series is off as a whole, its samples say little more than one of them would: the wider
    of two intervals counts, that of independent samples and that of independent series (the
    "sandwich" of Liang and Zeger 1986).
    """
    from scipy.special import stdtrit

    predicted = design.predicted(values)
    slopes, off = design.counted(values) / predicted[:, None], np.log(predicted / seconds)
    unit = 1 / np.maximum(np.abs(slopes).max(axis=0), 1e-300)
    inverse = np.linalg.pinv((slopes * unit).T @ (slopes * unit))
    pulls = slopes * unit * off[:, None]
    names = sorted(set(groups.tolist()))
    sums = np.array([pulls[groups == name].sum(axis=0) for name in names])
    widths = []
    for meat, free in (
        (inverse * (off @ off) / max(1, len(off) - len(values)), len(off) - len(values)),
        (inverse @ sums.T @ sums @ inverse * len(names) / max(1, len(names) - 1), len(names) - 1),
    ):
        quantile = float(stdtrit(max(1, free), (1 + LEVEL) / 2))
        widths.append(quantile * np.sqrt(np.maximum(np.diag(meat), 0.0)) * unit)
    wider: Array = np.maximum(*widths)
    return wider
