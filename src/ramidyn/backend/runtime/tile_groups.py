"""Groups of tiles that run each cut together, and the arrays they come from."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from ramidyn.backend.llvm.word_builder import I32, I64, Code, Module, Value, const, ir
from ramidyn.backend.runtime.memory_layout import (
    FERRY_WORDS,
    FETCHED,
    LINE,
    PLACE,
    PORT_WORDS,
    VIEW_WORDS,
    WORD,
    Ferry,
    Kernel,
    Port,
    View,
)
from ramidyn.backend.runtime.tiles import Tile


def tiles_of(code: Code, tile: Tile, states: Value) -> Value:
    """Return how many tiles some states take."""
    return code.b.sdiv(code.add(states, tile.lanes - 1), const(tile.lanes))


ENOUGH = 4
"""Tiles of a call whose cuts carry data: with fewer, their code costs what it saves."""


class Groups:
    """A function(kernel, views, batch, ..., workspaces, most), run group by group.

    Args:
        module: where the function belongs.
        tile: the kind of tiles.
        name: of the function.
        sets: of workspaces for ``most`` tiles, which the groups take in turns.
        arguments: of the function, all in all.
        brings: whether the first cut may bring inputs of the next tile.
        takes: whether the last cut may take out results of the tile before.
    """

    def __init__(
        self,
        module: Module,
        tile: Tile,
        name: str,
        sets: int,
        arguments: int = 5,
        brings: bool = False,
        takes: bool = False,
    ) -> None:
        code = module.function(name, arguments, local=True)
        kernel, _, batch, *_, workspaces, most = code.arguments
        self.code: Code = code
        self.workspaces: Value = workspaces
        self.most: Value = most
        self.call: Sequence[Value] = code.arguments[:3]
        self.tile = tile
        self.sets = sets
        self.cuts: Value = code.load(kernel, Kernel.CUTS)
        self.n_cuts: Value = code.load(kernel, Kernel.N_CUTS)
        self.libm: Value = code.load(kernel, Kernel.LIBM)
        self.size: Value = code.load(kernel, Kernel.BYTES)
        self.total: Value = tiles_of(code, tile, batch)
        rounded = code.add(self.total, code.add(self.most, -1))
        self.count: Value = code.b.sdiv(rounded, self.most)
        self.ferry: Value = code.cell(0, 2 * FERRY_WORDS)
        self.spare: Value = code.add(
            workspaces, code.mul(self.size, code.mul(self.most, sets))
        )
        self._comes: Value = self._can(brings, Kernel.BRING, Kernel.N_INPUTS)
        self._leaves: Value = self._can(takes, Kernel.TAKE, Kernel.N_OUTPUTS)
        self._carry_nothing()

    def _can(self, wanted: bool, address: Kernel, which: Kernel) -> Value:
        """Return whether a cut carries data of other tiles, side by side in arrays."""
        code = self.code
        if not wanted:
            return code.compare(const(0), "!=", 0)
        cut = code.load(self.call[0], address)
        is_there = code.compare(cut, "!=", 0)
        is_there = code.b.and_(is_there, code.compare(self.total, ">=", ENOUGH))
        ports = Ports(code, which)
        count = code.b.select(is_there, ports.count, const(0))
        with code.fold(count, code.b.zext(is_there, I64)) as turn:
            _, _, step, _ = ports.read(turn.index)
            is_close = code.compare(step, "==", self.tile.itemsize)
            turn.next = code.b.and_(turn.value, code.b.zext(is_close, I64))
        return code.compare(turn.result, "!=", 0)

    def _carry_nothing(self) -> None:
        """Give cuts that carry something spare memory, until there is more to carry."""
        code = self.code
        carries = code.b.or_(self._comes, self._leaves)
        sides = (
            # What comes is read elsewhere: a read of fresh writes would wait.
            (Kernel.BRING, Kernel.N_INPUTS, 0, self.workspaces),
            (Kernel.TAKE, Kernel.N_OUTPUTS, FERRY_WORDS, self.spare),
        )
        for address, which, first, rows in sides:
            cut, count = (code.load(self.call[0], word) for word in (address, which))
            has_cut = code.b.and_(carries, code.compare(cut, "!=", 0))
            with code.loop(code.b.select(has_cut, count, const(0))) as k:
                self._write(first, k, self.spare, rows, const(0))

    def _write(
        self, first: int, k: Value, slots: Value, rows: Value, stride: Value
    ) -> None:
        """Write where a cut finds an array."""
        code = self.code
        at = code.at(self.ferry, code.add(code.mul(k, len(Ferry)), first))
        for word, value in zip(Ferry, (slots, rows, stride), strict=True):
            code.store(value, at, word)

    def _comes_before(self, group: Value, i: Value) -> Value:
        """Return whether a cut brings the inputs of a tile for the tile before."""
        code = self.code
        state, _ = self.place(group, i)
        is_full = code.compare(code.add(state, self.tile.lanes), "<=", self.call[2])
        is_inside = code.b.and_(
            code.compare(i, ">", 0), code.compare(i, "<", self.tiles(group))
        )
        return code.b.and_(self._comes, code.b.and_(is_full, is_inside))

    def _carry(self, which: Kernel, group: Value, i: Value, is_there: Value) -> None:
        """Tell a cut where to find the slots and the rows of a tile, if it is there."""
        code = self.code
        is_input = which == Kernel.N_INPUTS
        first, idle = (0, self.workspaces) if is_input else (FERRY_WORDS, self.spare)
        state, workspace = self.place(group, i)
        slots = code.b.select(is_there, workspace, self.spare)
        ports = Ports(code, which)
        with code.loop(ports.count) as k:
            _, data, _, stride = ports.read(k)
            rows = code.b.select(
                is_there, code.add(data, code.mul(state, stride)), idle
            )
            stride = code.b.select(is_there, stride, const(0))
            self._write(first, k, slots, rows, stride)

    def tiles(self, group: Value) -> Value:
        """Return how many tiles a group has: the last one may have fewer."""
        code = self.code
        return code.min(self.most, code.b.sub(self.total, code.mul(group, self.most)))

    def place(self, group: Value, i: Value) -> tuple[Value, Value]:
        """Return the first state of a tile of a group, and its workspace."""
        code = self.code
        before = code.mul(group, self.most)
        state = code.mul(code.add(before, i), self.tile.lanes)
        if self.sets > 1:
            turn = code.b.srem(group, const(self.sets))
            i = code.add(i, code.mul(turn, self.most))
        return state, code.add(self.workspaces, code.mul(i, self.size))

    def pack(self, group: Value) -> None:
        """Pack all tiles of a group."""
        code = self.code
        # A repeated state stays in the slots of every workspace.
        is_new = code.b.zext(code.compare(group, "<", self.sets), group.type)
        with code.loop(self.tiles(group)) as i:
            comes = self._comes_before(group, i)
            with code.when(code.b.not_(comes)):
                code.call("pack_tile", *self.call, *self.place(group, i), is_new)

    def unpack(self, group: Value, name: str, *bounds: int) -> None:
        """Unpack what cuts have not taken out of the tiles of a group."""
        code = self.code
        tiles = self.tiles(group)
        taken = code.b.select(self._leaves, code.add(tiles, -1), const(0))
        with code.loop(code.b.sub(tiles, taken)) as i:
            place = self.place(group, code.add(taken, i))
            code.call(name, *self.call, *place, *bounds)

    @contextmanager
    def each_cut(self, group: Value) -> Generator[tuple[Value, Value]]:
        """Run the cuts, each on all tiles of a group; what is inside follows each.

        It is given the numbers of the cut and of the tile.

        A kernel with instructions runs them, and nothing follows.
        """
        code = self.code
        kernel = self.call[0]
        has_steps = code.compare(code.load(kernel, Kernel.N_STEPS), "!=", 0)
        with code.when(has_steps, likely=False):
            _, first = self.place(group, const(0))
            code.call("run_steps", kernel, first, self.tiles(group))
        straight = code.b.select(has_steps, const(0), self.n_cuts)
        with code.loop(straight) as k:
            cut = code.load(code.at(self.cuts, k))
            is_last = code.compare(k, "==", code.add(self.n_cuts, -1))
            brings = code.b.and_(code.compare(k, "==", 0), self._comes)
            takes = code.b.and_(is_last, self._leaves)
            cut = code.b.select(takes, code.load(kernel, Kernel.TAKE), cut)
            cut = code.b.select(brings, code.load(kernel, Kernel.BRING), cut)
            with code.loop(self.tiles(group)) as i:
                with code.when(brings):
                    following = code.add(i, 1)
                    comes = self._comes_before(group, following)
                    self._carry(Kernel.N_INPUTS, group, following, comes)
                with code.when(takes):
                    leaves = code.compare(i, ">", 0)
                    self._carry(Kernel.N_OUTPUTS, group, code.add(i, -1), leaves)
                _, workspace = self.place(group, i)
                code.call_address(cut, workspace, workspace, self.libm, self.ferry)
                yield k, i


def emit_groups(
    module: Module, tile: Tile, name: str, unpack: str, *bounds: int
) -> None:
    """name(kernel, views, batch, workspaces, most): run ``most`` tiles together.

    ``unpack`` moves the outputs of a tile, between some bounds: then it streams them.
    The inputs of the next group are fetched while this one is computed.
    """
    groups = Groups(module, tile, name, sets=1, brings=True, takes=not bounds)
    code = groups.code
    pace = fetch_pace(groups)
    with code.loop(groups.count) as group:
        groups.pack(group)
        with groups.each_cut(group) as (cut, i):
            state, _ = groups.place(code.add(group, 1), i)
            with code.when(code.compare(state, "<", groups.call[2])):
                begin, end = (
                    code.b.ashr(code.mul(k, pace), const(PACE_BITS))
                    for k in (cut, code.add(cut, 1))
                )
                code.call("fetch_inputs", *groups.call, state, begin, end)
        groups.unpack(group, unpack, *bounds)
    if bounds:
        code.b.fence("seq_cst")
    code.leave(0)


PACE_BITS = 20


def fetch_pace(groups: Groups) -> Value:
    """Return how many inputs are fetched per cut, times 2^PACE_BITS.

    None if all of them are in a cache anyway.
    """
    code = groups.code
    inputs = Ports(code, Kernel.N_INPUTS)
    with code.fold(inputs.count, 0) as turn:
        size, *_ = inputs.read(turn.index)
        turn.next = code.add(turn.value, code.mul(size, groups.tile.itemsize))
    is_far = code.compare(code.mul(turn.result, groups.call[2]), ">", FETCHED)
    count = code.b.shl(inputs.count, const(PACE_BITS))
    share = code.b.sdiv(count, code.max(groups.n_cuts, 1))
    return code.b.select(is_far, code.add(share, 1), const(0))


def emit_fetch(module: Module, tile: Tile, nearness: int) -> None:
    """fetch_*(data, size, step, stride, first, batch): bring a tile's rows near.

    ``nearness`` is LLVM's: 3 for the nearest cache, 2 for the second.
    Behind the end of an array that is wasted, and does no harm.
    """
    for name, is_write in (("fetch_read", False), ("fetch_write", True)):
        code = module.function(name, 6, local=True)
        data, size, step, stride, first, _ = code.arguments
        fetch = fetcher(code, is_write, nearness)
        start = code.add(data, code.mul(first, stride))
        length = code.mul(size, tile.itemsize)
        with code.when(code.compare(step, "==", tile.itemsize)):
            is_dense = code.compare(stride, "==", length)
            with code.when(is_dense):
                whole = code.mul(stride, tile.lanes)
                fetch_rows(code, fetch, start, const(1), stride, whole)
            rows = code.b.select(is_dense, const(0), const(tile.lanes))
            fetch_rows(code, fetch, start, rows, stride, length)
            code.leave(0)
        with code.when(code.compare(stride, "==", tile.itemsize)):
            fetch_rows(code, fetch, start, size, step, const(tile.slot))
        code.leave(0)


def fetcher(code: Code, is_write: bool, nearness: int) -> Callable[[Value], None]:
    """Return what fetches the cache line of an address."""
    pointer = ir.IntType(8).as_pointer()
    kinds = [pointer, I32, I32, I32]
    prefetch = code.module.external("llvm.prefetch.p0", ir.VoidType(), kinds)
    how = [ir.Constant(I32, int(k)) for k in (is_write, nearness, 1)]
    return lambda at: code.b.call(prefetch, [code.b.inttoptr(at, pointer), *how])


def fetch_rows(
    code: Code,
    fetch: Callable[[Value], None],
    start: Value,
    count: Value,
    apart: Value,
    length: Value,
) -> None:
    """Fetch some rows of ``length`` bytes, which begin ``apart`` bytes apart."""
    with code.loop(count) as k:
        row = code.add(start, code.mul(k, apart))
        with code.loop(code.add(length, LINE - 1), LINE) as offset:
            fetch(code.add(row, offset))


def emit_fetch_inputs(module: Module) -> None:
    """fetch_inputs(kernel, views, batch, state, begin, end): a tile of some inputs."""
    code = module.function("fetch_inputs", 6, local=True)
    _, _, batch, state, begin, end = code.arguments
    inputs = Ports(code, Kernel.N_INPUTS)
    with code.loop(code.b.sub(end, begin)) as k:
        size, data, step, stride = inputs.read(code.add(begin, k))
        with code.when(code.compare(stride, "!=", 0)):
            code.call("fetch_read", data, size, step, stride, state, batch)
    code.leave(0)


class Ports:
    """The inputs or the outputs of a call."""

    def __init__(self, code: Code, which: Kernel) -> None:
        kernel, views = code.arguments[:2]
        self.code = code
        self.views: Value = views
        self.ports: Value = code.load(kernel, Kernel.PORTS)
        self.count: Value = code.load(kernel, which)
        if which == Kernel.N_OUTPUTS:
            before = code.load(kernel, Kernel.N_INPUTS)
            self.ports = code.add(self.ports, code.mul(before, PORT_WORDS * WORD))
            self.views = code.add(self.views, code.mul(before, VIEW_WORDS * WORD))

    def read(self, index: Value) -> tuple[Value, Value, Value, Value]:
        """Return size, data, step and stride of one."""
        code = self.code
        port = code.add(self.ports, code.mul(index, PORT_WORDS * WORD))
        view = code.add(self.views, code.mul(index, VIEW_WORDS * WORD))
        data, step, stride = (
            code.load(view, w) for w in (View.DATA, View.STEP, View.STRIDE)
        )
        return code.load(port, Port.SIZE), data, step, stride

    def place(self, index: Value) -> Value:
        """Return the place of one in the buffer of numbers, or that it is a table."""
        port = self.code.add(self.ports, self.code.mul(index, PORT_WORDS * WORD))
        return self.code.load(port, Port.BUFFER)


def emit_pack_tile(module: Module, tile: Tile) -> None:
    """pack_tile(kernel, views, batch, state, workspace, is_new): move all inputs."""
    code = module.function("pack_tile", 6, local=True)
    _, _, batch, state, workspace, is_new = code.arguments
    inputs = Ports(code, Kernel.N_INPUTS)
    with code.fold(inputs.count, workspace) as turn:
        size, data, step, stride = inputs.read(turn.index)
        with code.when(code.compare(code.b.or_(stride, is_new), "!=", 0)):
            array = data, step, stride
            code.call("pack", workspace, turn.value, size, *array, state, batch)
        turn.next = code.add(turn.value, code.mul(size, tile.slot))
    code.leave(0)


def emit_unpack_tile(module: Module, tile: Tile) -> None:
    """unpack_tile(kernel, views, batch, state, workspace): move all outputs."""
    code = module.function("unpack_tile", 5, local=True)
    kernel, _, batch, state, workspace = code.arguments
    outputs = Ports(code, Kernel.N_OUTPUTS)
    with code.fold(outputs.count, code.load(kernel, Kernel.PLACES)) as turn:
        size, data, step, stride = outputs.read(turn.index)
        by_place = code.compare(size, ">", 0)
        if tile.lanes == 1:
            write = code.load(code.at(code.load(kernel, Kernel.WRITERS), turn.index))
            is_far = code.compare(step, "!=", tile.itemsize)
            by_place = code.b.or_(is_far, code.compare(write, "==", 0))
            with code.when(code.b.not_(by_place)):
                row = code.add(data, code.mul(state, stride))
                code.call_address(write, workspace, row, const(0))
        with code.when(by_place):
            array = data, step, stride
            code.call("unpack", workspace, turn.value, size, *array, state, batch)
        turn.next = code.add(turn.value, code.mul(size, PLACE))
    code.leave(0)
