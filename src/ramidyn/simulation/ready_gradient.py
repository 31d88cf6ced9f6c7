"""The native calls of a short time loop and back, for arrays of known layouts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np

from ramidyn.backend.calls.arguments import Array
from ramidyn.backend.calls.scan_call import MovableCalls, array_like
from ramidyn.simulation.backward_pass import ArrayRows, BackwardPass, StateChunk
from ramidyn.simulation.ready_run import MOST_COPIED

NOTHING: Array = np.empty(0)


@final
class ReadyGradient:
    """All steps of a scan and back; one thread at a time may call it.

    Args:
        owner: the pass.
        given: the inputs of the scan, then the weights, as users give them.
        inputs: the inputs by name.
        weights: the weights by the names of outputs.
        outputs: arrays of the outputs.
        batch: the number of states.
    """

    def __init__(
        self,
        owner: BackwardPass,
        given: Sequence[object],
        inputs: Mapping[str, ArrayRows],
        weights: Mapping[str, ArrayRows],
        outputs: Sequence[Array],
        batch: int | None,
    ) -> None:
        self.batch = batch
        self._owner = owner
        self._inputs = {n: x._replace(array=NOTHING) for n, x in inputs.items()}
        step, signature, length = owner.step, owner.scan.signature, owner.scan.length
        self._copied: list[tuple[int, Array]] = []
        """inputs and weights that are copied, and where to"""
        self._read: list[int] = []
        """those that are read where they are"""
        rows = [
            self._model(k, x, value)
            for k, (x, value) in enumerate(
                zip((*inputs.values(), *weights.values()), given, strict=True)
            )
        ]
        self._layouts = [(x.shape, x.strides) for x in outputs]
        own = dict(zip(inputs, rows, strict=False))
        weighted = dict(zip(weights, rows[len(own) :], strict=True))
        written = [array_like(x) for x in outputs]
        kind, places = signature.element, list(owner.names)
        cores = {n: signature.shape(owner.cores[n], batch) for n in step.summed}
        cores |= {n: signature.shape(owner.cores[n], batch) for n in step.carried}
        self._sums = {n: np.empty(shape, kind) for n, shape in cores.items()}
        self._stacked = {
            n: signature.shape((length, *owner.cores[n]), batch) for n in step.stacked
        }
        stacked = {n: np.empty(shape, kind) for n, shape in self._stacked.items()}
        found = {
            n: ArrayRows(signature, x, batch, n in stacked)
            for n, x in {**self._sums, **stacked}.items()
        }
        chunk = StateChunk(owner, own, weighted, written, found, batch)
        tape = chunk.tape(owner.taped, length + 1)
        self._firsts = [(x.row(0), places.index(n)) for n, x in tape.items()]
        ends = {carried: name for name, carried in owner.ends.items() if carried}
        order = list(weights)
        self._starts = [
            (x, len(places) + order.index(ends[n]) if n in ends else None)
            for n, x in self._sums.items()
        ]
        forward, targets = chunk.forward_call(own, length, tape, is_merged=True)
        self.is_usable: bool = all(targets[k].array is x for k, x in enumerate(written))
        """whether native code writes the outputs where they are"""
        back = chunk.back_call(own, slice(0, length), tape)
        models = [rows[k].array for k in self._read]
        self._calls = MovableCalls(
            [forward, back], [*models, *written, *stacked.values()]
        )

    @staticmethod
    def fits(
        owner: BackwardPass, batch: int | None, weights: Mapping[str, ArrayRows]
    ) -> bool:
        """Say whether a pass is short, and reads its weights where they are."""
        scan = owner.scan
        size = sum(math.prod(owner.cores[n]) for n in owner.taped)
        size *= (batch or 1) * (scan.length + 1) * scan.signature.element.itemsize
        return (
            batch != 0
            and size <= MOST_COPIED
            and scan.plan.times.every == 1
            and scan.signature.layout == "batch_first"
            and all(weights[n].has_time for n in owner.step.weighted)
        )

    def _model(self, index: int, rows: ArrayRows, given: object) -> ArrayRows:
        """Return a model of an input in place of the array that each run has."""
        scan, array = self._owner.scan, rows.array
        model = array_like(array)
        is_batch = rows.batch is not None
        if array is given and scan.timed(model, is_batch, rows.has_time).array is model:
            self._read.append(index)
        else:
            model = np.array(array, order="C")
            self._copied.append((index, model))
        return rows._replace(array=model)

    def takes(self, outputs: Sequence[Array]) -> bool:
        """Say whether outputs are laid out as those that this was made for."""
        return self._layouts == [(x.shape, x.strides) for x in outputs]

    def run(self, given: Sequence[Any], outputs: Sequence[Array]) -> list[Array]:
        """Run all steps and back: write the outputs, and return the gradients."""
        for k, slot in self._copied:
            slot[...] = given[k]
        for row, k in self._firsts:
            row[...] = given[k]
        for total, k in self._starts:
            total[...] = 0.0 if k is None else given[k]
        kind = self._owner.scan.signature.element
        stacked = {n: np.empty(shape, kind) for n, shape in self._stacked.items()}
        arrays = [given[k] for k in self._read]
        self._calls.run([*arrays, *outputs, *stacked.values()])
        owner, batch = self._owner, self.batch
        return [
            stacked[n]
            if n in stacked
            else owner.gradient(n, self._inputs[n], np.array(self._sums[n]), batch)
            for n in owner.wrt
        ]
