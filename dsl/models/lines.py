"""The lines of a model's program, written plainly: `fmt` lays them out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import sqrt

from layoutc.dsl.models.architecture import Architecture
from layoutc.dsl.shape import Hole
from layoutc.dsl.words import number

BATCH, CONTEXT, STEPS = 64, 2048, 64
"""Of the file's phases: requests decoded at once, places of their caches, tokens for each prompt.
A prompt takes a quarter of the context."""


def prompt(a: Architecture) -> int:
    """Tokens of a prompt: a quarter of the context that the file has."""
    return max(1, min(CONTEXT, a.context) // 4)


def body(a: Architecture, hole: Hole) -> Iterator[str]:
    """Every line from `dims` to `output`; `hole` is in place of the layouts of matrices."""
    page = _Page(a, hole)
    page.header()
    page.table()
    page.write(f"repeat {a.layers} {{")
    page.declarations()
    page.layer()
    page.write("next x = y", "}")
    page.logits()
    return iter(page.lines)


@dataclass(slots=True)
class _Page:
    """The lines so far."""

    a: Architecture
    hole: Hole
    lines: list[str] = field(default_factory=list)

    @property
    def queries(self) -> str:
        """The dims of what is a head of queries: its numbers, and what is in it."""
        return "KGQ" if self.a.attention == "grouped" else "HQ"

    @property
    def keys(self) -> str:
        """The dims of a head of keys and values."""
        return {"grouped": "KQ", "multi-head": "HQ", "multi-query": "Q"}[self.a.attention]

    def write(self, *lines: str) -> None:
        self.lines += lines

    def weight(self, name: str, dims: str) -> None:
        matrix = "E" in dims and len(dims) > 1
        self.write(f"weight {name} : {dims}{self.hole if matrix else '?'}")

    def chain(self, name: str, dims: str, first: str, *steps: str, last: str = "") -> str:
        """Defines x, and what becomes of it in steps; returns the last name."""
        self.write(f"{name if steps else last or name} : {dims}? = {first}")
        return self.then(name, *steps, last=last)

    def then(self, name: str, *steps: str, last: str = "") -> str:
        """Steps that change x, in which `{}` is what came before: x1, x2, ..., as the last of which
        `last` may name another. Returns the last name."""
        names = [name, *(f"{name}{number}" for number in range(1, len(steps) + 1))]
        names[-1] = last or names[-1]
        for before, after, step in zip(names, names[1:], steps, strict=False):
            self.write(f"{after} = {step.format(before)}")
        return names[-1]

    # Its parts.

    def header(self) -> None:
        """Dims, mesh, phases, and what stands outside of the layers."""
        a, context = self.a, min(CONTEXT, self.a.context)
        heads = {
            "grouped": f"K={a.kv_heads} G={a.heads // a.kv_heads}",
            "multi-head": f"H={a.heads}",
            "multi-query": f"H={a.heads}",
        }[a.attention]
        places = f" P={a.places}" if a.places else ""
        sizes = f"B={BATCH} L=1 M={context} E={a.d_model} F={a.d_ff} {heads} Q={a.head_size}"
        self.write(
            f"dims {sizes} V={a.vocabulary}{places}",
            "mesh x y z",
            f"phase prefill : B=1 L={prompt(a)} M={prompt(a)}",
            f"phase decode : weight={STEPS}",
            "",
            "input ids : BL? int32",
            "input pos : B? int32  # where each sequence's first new token goes",
        )
        if a.places:
            self.write("input at : BL? int32  # where each token goes: pos and what follows it")
            self.weight("places", "PE")
        self.weight("table", "VE")
        self.norm_weights("o")
        if not a.tied:
            self.weight("w_logits", "EV")
        if "logits" in a.biases:
            self.weight("b_logits", "V")

    def table(self) -> None:
        """Ids become x."""
        self.write("")
        root = f"{{}} * {_number(sqrt(self.a.d_model))}  # the square root of E"
        scaled = [root] if self.a.embedding_scaled else []
        added = ["{} + placed"] if self.a.places else []
        if added:
            self.write("placed : BLE? = embed[P](places, at)")
        self.chain("e", "BLE", "embed[V](table, ids)", *scaled, *added, last="x")

    def declarations(self) -> None:
        """The weights and caches of a layer, in the order of their use."""
        self.norm_weights("a")
        self.attention_weights()
        if self.a.norms == 4:
            self.norm_weights("a_end")
        if self.a.norms != 1:
            self.norm_weights("f")
        self.feedforward_weights()
        if self.a.norms == 4:
            self.norm_weights("f_end")
        for cache in ("kc", "vc"):
            self.write(f"cache {cache} : BM{self.keys}?")
        self.write("")

    def norm_weights(self, name: str) -> None:
        self.weight(f"{name}_scale", "E")
        if "norms" in self.a.biases:
            self.weight(f"{name}_bias", "E")

    def attention_weights(self) -> None:
        dims = {"q": self.queries, "k": self.keys, "v": self.keys}
        for name in dims:
            self.weight(f"w{name}", f"E{dims[name]}")
        if "qkv" in self.a.biases:
            for name in dims:
                self.weight(f"b{name}", dims[name])
        if self.a.head_norms:
            self.weight("q_scale", "Q")
            self.weight("k_scale", "Q")
        self.weight("wo", f"{self.queries}E")
        if "o" in self.a.biases:
            self.weight("bo", "E")

    def feedforward_weights(self) -> None:
        names = {"w_gate": "F", "w_up": "F"} if self.a.gated else {"w_in": "F"}
        down = "w_down" if self.a.gated else "w_out"
        for name in names:
            self.weight(name, "EF")
        if "ffn" in self.a.biases:
            for name, dim in names.items():
                self.weight(f"b{name[1:]}", dim)
        self.weight(down, "FE")
        if "ffn" in self.a.biases:
            self.weight(f"b{down[1:]}", "E")

    def layer(self) -> None:
        """Attention and feedforward, one on the other or side by side, and the residual."""
        a = self.a
        self.write(f"n = {self.norm('x', 'a')}")
        attended = self.attention()
        if a.norms == 4:
            self.write(f"ae = {self.norm(attended, 'a_end')}")
            attended = "ae"
        self.write("")
        if a.parallel:
            if a.norms == 2:
                self.write(f"n1 = {self.norm('x', 'f')}")
            fed = self.feedforward("n1" if a.norms == 2 else "n")
            self.write(f"af = {attended} + {fed}", "y : BLE? = x + af")
            return
        self.write(f"x1 = x + {attended}", f"n1 = {self.norm('x1', 'f')}")
        fed = self.feedforward("n1")
        if a.norms == 4:
            self.write(f"de = {self.norm(fed, 'f_end')}")
            fed = "de"
        self.write(f"y : BLE? = x1 + {fed}")

    def norm(self, of: str, name: str) -> str:
        bias = f", {name}_bias" if "norms" in self.a.biases else ""
        return f"{self.a.norm}[E, eps={_number(self.a.eps)}]({of}, {name}_scale{bias})"

    def attention(self) -> str:
        """From the normed x, `n`, to what is added to x; its name."""
        a = self.a
        for name, dims in (("q", self.queries), ("k", self.keys), ("v", self.keys)):
            self.write(f"{name} : BL{dims}? = n * w{name}")
        q, k, v = (self.then(name, *self.turned(name)) for name in "qkv")
        self.write(f"kc1 = write[M](kc, {k}, pos)", f"vc1 = write[M](vc, {v}, pos)")
        own = a.score_size in (0, a.head_size)
        root = f"{_number(sqrt(a.score_size))}  # the square root of {_number(a.score_size)}"
        scale = "scale[Q]({})" if own else f"{{}} / {root}"
        heads = self.queries.removesuffix("Q")
        steps = (scale, *_capped(a.score_cap), "causal[L, M]({}, pos)")
        s = self.chain("s", f"BL{heads}M", f"{q} * kc1", *steps)
        self.write(f"p = softmax[M]({s})", f"o : BL{self.queries}? = p * vc1")
        return self.chain("a", "BLE", "o * wo", *(["{} + bo"] if "o" in a.biases else []))

    def turned(self, name: str) -> Iterator[str]:
        """What becomes of queries, keys or values: bias, norm and position, where they are."""
        a = self.a
        if "qkv" in a.biases:
            yield f"{{}} + b{name}"
        if name != "v" and a.head_norms:
            yield f"{a.norm}[Q, eps={_number(a.eps)}]({{}}, {name}_scale)"
        if name != "v" and a.positions == "rotary":
            yield f"rope[Q, theta={_number(a.theta)}]({{}}, pos)"

    def feedforward(self, of: str) -> str:
        """From a normed x to what is added to x; its name."""
        a, biased = self.a, "ffn" in self.a.biases
        if not a.gated:
            h = self.chain("h", "BLF", f"{of} * w_in", *(["{} + b_in"] if biased else []))
            self.write(f"g = {a.activation}({h})")
            return self.chain("d", "BLE", "g * w_out", *(["{} + b_out"] if biased else []))
        gate = self.chain("gate", "BLF", f"{of} * w_gate", *(["{} + b_gate"] if biased else []))
        up = self.chain("up", "BLF", f"{of} * w_up", *(["{} + b_up"] if biased else []))
        self.write(f"act = {a.activation}({gate})", f"h = act * {up}")
        return self.chain("d", "BLE", "h * w_down", *(["{} + b_down"] if biased else []))

    def logits(self) -> None:
        """x becomes logits, of all tokens of the pass."""
        a = self.a
        self.write(f"xn = {self.norm('x', 'o')}")
        bias = ["{} + b_logits"] if "logits" in a.biases else []
        scale = ["scale[E]({})"] if a.logits_scaled else []
        matrix = "table" if a.tied else "w_logits"
        steps = (*bias, *scale, *_capped(a.logits_cap))
        self.chain("l", "BLV", f"xn * {matrix}", *steps, last="logits")
        self.write("output logits")


def _capped(cap: float) -> tuple[str, ...]:
    """cap·tanh(s/cap), where there is a cap."""
    return (f"{{}} / {_number(cap)}", "tanh({})", f"{{}} * {_number(cap)}") if cap else ()


def _number(value: float) -> str:
    """As the notation spells it."""
    spelling = number(repr(float(value)))
    if spelling is None:
        raise ValueError(f"{value} is beyond any number of the notation")
    return spelling
