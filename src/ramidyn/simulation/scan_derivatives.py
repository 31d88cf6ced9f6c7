"""Derivatives of time loops: forward with the steps, or backwards through them.

The step in reverse (`symbolic/reverse_step`) is a step as well. It is scanned from the
last step to the first: arrays with a time axis are read and written backwards. What the
step carries is kept by the forward pass: the tape (`backward_pass.py`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from ramidyn.backend.calls import arguments
from ramidyn.backend.calls.arguments import Array
from ramidyn.backend.runtime.memory_layout import TABLE, is_table
from ramidyn.concurrency import kept, made_once
from ramidyn.errors import ArgumentError
from ramidyn.function import Function, compilation_of
from ramidyn.kernels import program_kernel
from ramidyn.simulation.backward_pass import ArrayRows, BackwardPass, options_of
from ramidyn.simulation.ready_gradient import ReadyGradient
from ramidyn.simulation.ready_run import layout_of
from ramidyn.symbolic.derivatives import SolutionNodes, checked_wrt, jvp
from ramidyn.symbolic.program import Program, free_name

if TYPE_CHECKING:
    from ramidyn.simulation.scan import Scan

Traced = Callable[[], tuple[Program, Sequence[SolutionNodes]]]
"""traces a step, with nodes that have gradients of their own"""


@final
class ScanJvp:
    """A scan with the change of its outputs; see `Scan.jvp`."""

    def __init__(self, scan: Scan, wrt: str | Sequence[str]) -> None:
        self.scan = scan
        signature, plan = scan.signature, scan.plan
        names = signature.input_names
        self.wrt: tuple[str, ...] = checked_wrt(wrt, names)
        check_differentiable(self.wrt)
        carried = [names[i] for i, _ in plan.carry]
        moved = [n for n in names if n in self.wrt or n in carried]
        self._moved = moved
        program = jvp(_traced_step(scan.step), moved)
        step = program_kernel(program, options_of(scan.step))
        inputs, outputs = len(names), len(signature.outputs)
        tangent = {n: inputs + k for k, n in enumerate(moved)}
        moves = ((tangent[names[i]], outputs + o) for i, o in plan.carry)
        further = {tangent[names[i]] for i in plan.per_step if names[i] in tangent}
        self._scan = scan.of(
            step,
            replace(
                plan,
                carry=(*plan.carry, *moves),
                per_step=plan.per_step | further,
                records=(*plan.records, *(outputs + k for k in plan.records)),
            ),
        )
        extended = self._scan.signature.inputs
        self._zero = {
            extended[tangent[n]][0]: np.zeros(extended[tangent[n]][1])
            for n in moved
            if n not in self.wrt
        }

    def __repr__(self) -> str:
        return f"jvp of {self.scan!r}, by {', '.join(self.wrt)}"

    def __reduce__(self) -> tuple[Any, ...]:
        return ScanJvp, (self.scan, self.wrt)

    def __call__(self, *values: Any, out: Any = None, **named: Any) -> Any:
        """Run all steps from the values and changes of the inputs."""
        return self._scan(*values, out=out, **named, **self._zero)

    def changes(
        self, values: Sequence[object], tangents: Mapping[str, object]
    ) -> dict[str, Array]:
        """Return the change of each output, by the names of outputs.

        ``tangents`` are those of the inputs in ``wrt``, by their names.
        """
        cores, names = (
            dict(self.scan.signature.inputs),
            self.scan.signature.output_names,
        )
        moved = [tangents.get(n, np.zeros(cores[n])) for n in self._moved]
        found = self._scan(*values, *moved)
        return dict(zip(names, found[len(names) :], strict=True))


@final
class ScanVjp:
    """A scan with the gradient of a weighted sum of its outputs; see `Scan.vjp`."""

    def __init__(
        self,
        scan: Scan,
        wrt: str | Sequence[str],
        of: str | Sequence[str] | None = None,
        traced: Traced | None = None,
    ) -> None:
        self.scan = scan
        signature = scan.signature
        outputs = signature.output_names
        self.wrt: tuple[str, ...] = checked_wrt(wrt, signature.input_names)
        check_differentiable(self.wrt)
        listed = outputs if of is None else (of,) if isinstance(of, str) else tuple(of)
        for name in listed:
            if name not in outputs:
                raise ArgumentError(
                    f"of has {name!r}, which is not an output of {signature.name!r}; "
                    f"outputs: {', '.join(outputs)}"
                )
        self.of: tuple[str, ...] = tuple(n for n in outputs if n in listed)
        self._traced: Traced = traced or (lambda: (_traced_step(scan.step), ()))
        own = dict(scan.results.outputs)
        weights: list[tuple[str, tuple[int, ...]]] = []
        for name in self.of:
            taken = (*signature.input_names, *(n for n, _ in weights))
            weights.append((free_name(f"{name}_cotangent", taken), own[name]))
        gradients: list[str] = []
        for name in self.wrt:
            gradients.append(free_name(f"{name}_cotangent", (*outputs, *gradients)))
        self._names: tuple[str, ...] = (*outputs, *gradients)
        self._backward: dict[frozenset[str], BackwardPass] = {}
        """by the inputs that have a value for each step"""
        self._ready: OrderedDict[tuple[object, ...], list[ReadyGradient]] = (
            OrderedDict()
        )
        """short passes that no thread is in, by the layouts of their inputs"""
        self._weights = replace(signature, inputs=tuple(weights), defaults=())
        self._signature = replace(
            signature, inputs=(*signature.inputs, *self._weights.inputs)
        )

    def __repr__(self) -> str:
        return f"vjp of {self.scan!r}, by {', '.join(self.wrt)}"

    def __reduce__(self) -> tuple[Any, ...]:
        return ScanVjp, (self.scan, self.wrt, self.of)

    def __call__(self, *values: Any, **named: Any) -> Any:
        """Run all steps from the values of the inputs, and back with the weights."""
        given = (*values, *named.values())
        *bound, _ = arguments.bind(self._signature, given, tuple(named))
        count = len(self.scan.signature.inputs)
        outputs, gradients = self.run(bound[:count], bound[count:])
        return arguments.make_result(self._names, [*outputs, *gradients])

    def run(
        self,
        values: Sequence[object],
        weights: Sequence[object],
        out: Callable[[int | None], Mapping[str, Array]] | None = None,
    ) -> tuple[list[Array], list[Array]]:
        """Return the outputs and the gradients, in the orders of their names.

        Args:
            values: the inputs of the scan.
            weights: those of the outputs in ``of``.
            out: returns arrays for the outputs of the scan by name, for a batch.
        """
        kind, given = self.scan.signature.element, (*values, *weights)
        key = tuple([layout_of(x, kind) for x in given])
        pool = self._ready.get(key)
        if not pool:
            return self._run(values, weights, out, key)
        ready = pool.pop()
        outputs = self._outputs(ready.batch, out)
        if not ready.takes(outputs):
            named = dict(zip(self.scan.signature.output_names, outputs, strict=True))
            return self._run(values, weights, lambda _: named, key)
        gradients = ready.run(given, outputs)
        pool.append(ready)
        return outputs, gradients

    def _outputs(
        self,
        batch: int | None,
        out: Callable[[int | None], Mapping[str, Array]] | None,
    ) -> list[Array]:
        """Return arrays for the outputs of the scan."""
        names = self.scan.signature.output_names
        if out is not None:
            named = out(batch)
            return [named[n] for n in names]
        found: Any = self.scan.allocated(batch)
        return [found] if len(names) == 1 else list(found)

    def _run(
        self,
        values: Sequence[object],
        weights: Sequence[object],
        out: Callable[[int | None], Mapping[str, Array]] | None,
        key: tuple[object, ...],
    ) -> tuple[list[Array], list[Array]]:
        """Run with inputs of a new layout, and be ready for more of them."""
        scan, signature = self.scan, self.scan.signature
        arrays, batches = scan.read(values)
        given = arguments.to_arrays(self._weights, weights)
        own = [
            arguments.batch_of(self._weights, name, core, a.shape)
            for (name, core), a in zip(self._weights.inputs, given, strict=True)
        ]
        batch = arguments.common_batch(self._signature, [*batches, *own])
        inputs = {
            name: ArrayRows(signature, a, b, scan.has_time(k, a.shape))
            for k, (name, a, b) in enumerate(
                zip(signature.input_names, arrays, batches, strict=True)
            )
        }
        records = [signature.output_names[k] for k in scan.plan.records]
        weighted = {
            name: ArrayRows(signature, a, b, name in records)
            for name, a, b in zip(self.of, given, own, strict=True)
        }
        outputs = self._outputs(batch, out)
        timed = frozenset(n for n, x in inputs.items() if x.is_timed(scan.length))
        backward = made_once(self._backward, timed, lambda: self._compiled(timed))
        if None not in key and ReadyGradient.fits(backward, batch, weighted):
            user = (*values, *weights)
            ready = ReadyGradient(backward, user, inputs, weighted, outputs, batch)
            if ready.is_usable:
                gradients = ready.run(user, outputs)
                kept(self._ready, key, list[ReadyGradient]).append(ready)
                return outputs, gradients
        gradients = backward.gradients(inputs, weighted, outputs, batch)
        return outputs, gradients

    def _compiled(self, timed: frozenset[str]) -> BackwardPass:
        program, solutions = self._traced()
        return BackwardPass(self.scan, self.wrt, self.of, timed, program, solutions)


def _traced_step(step: Function) -> Program:
    compilation = compilation_of(step)
    return compilation.traced_for(compilation.options.dtype)


def check_differentiable(wrt: Sequence[str]) -> None:
    """Raise ArgumentError if an input is a table, which is read where it is."""
    for name in wrt:
        if is_table(name):
            raise ArgumentError(
                f"wrt names {name.removeprefix(TABLE)!r}, which is too large for a "
                "gradient for each state; gradients by tables are not supported"
            )
