"""Small studies of `plan`: a model of the catalogue on few chips, found in a few seconds."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from layoutc.options import parser
from layoutc.serving.asking import query
from layoutc.serving.studied import Studied, studied
from layoutc.solver.serving.demand import Demand
from layoutc.solver.serving.service import serve
from layoutc.solver.serving.study import Group, Study


def study(words: str) -> Studied:
    """What `layoutc plan` finds for these words."""
    _, asked = query(parser().parse_args(["plan", *words.split()]))
    return studied(asked)


def denser(found: Studied, batches: int, prompts: int) -> Studied:
    """The same layouts at batches 1, 2, 3, ... and at as many prompts: nothing is searched."""
    rows = np.array(list(product(range(1, batches + 1), range(64, 64 + prompts))))
    batch, prompt = rows.T
    demand = Demand(batch, batch, prompt, np.full_like(batch, 16), prompt)
    groups = [
        Group(tuple(serve(way.service, demand, found.query.machine) for way in group.ways))
        for group in found.study.groups
    ]
    whole = Study(groups, found.study.parameters, found.query.machine)
    return replace(found, query=replace(found.query, demand=demand), study=whole)
