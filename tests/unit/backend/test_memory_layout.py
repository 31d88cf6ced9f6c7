"""How many tiles run together, for sizes that robots have."""

from __future__ import annotations

import pytest

from ramidyn.backend.calls.runnable import kept_memory
from ramidyn.backend.runtime.memory_layout import (
    LINE,
    TILES,
    Kernel,
    KernelSizes,
    kernel_sizes,
    tiles_together,
)

KB = 1024


def sizes_of(size: int, cuts: int, lanes: int = 8) -> KernelSizes:
    return kernel_sizes(size // (8 * lanes), [0], cuts, lanes, "float64", False)


@pytest.mark.parametrize(
    ("size", "cuts", "tiles"),
    [
        (46 * KB, 6, TILES),  # dynamics of 50 DoF
        (120 * KB, 28, 2),  # chain of 100
        (137 * KB, 7, 3),  # derivatives of Go2
        (319 * KB, 22, 1),  # derivatives of Talos's inverse dynamics
        (476 * KB, 21, 1),  # derivatives of G1's forward dynamics
    ],
)
def test_tiles_leave_room_for_the_code_in_the_second_cache(
    size: int, cuts: int, tiles: int
) -> None:
    assert tiles_together(size, LINE, cuts, has_open_ends=False) == tiles


@pytest.mark.parametrize(("slot", "tiles"), [(16, 16), (32, 16), (64, 8), (128, 8)])
def test_short_vectors_run_in_more_tiles_if_their_code_stays(
    slot: int, tiles: int
) -> None:
    assert tiles_together(8 * KB, slot, 3, has_open_ends=False) == tiles
    assert tiles_together(8 * KB, slot, 60, has_open_ends=False) == TILES


@pytest.mark.parametrize(
    ("size", "cuts"),
    [
        (112 * KB, 53),  # binary tree of 255, 4 lanes
        (224 * KB, 53),  # the same, 8 lanes
        (333 * KB, 86),  # chain of 300
        (810 * KB, 35),  # derivatives of Talos's forward dynamics
    ],
)
def test_code_that_no_second_cache_holds_is_fetched_for_as_many_tiles_as_can_be(
    size: int, cuts: int
) -> None:
    assert tiles_together(size, LINE, cuts, has_open_ends=False) == TILES


@pytest.mark.parametrize("has_open_ends", [False, True])
def test_workspaces_that_run_together_fit_in_the_last_cache(
    has_open_ends: bool,
) -> None:
    for size in (10**6, 3 * 10**6, 2**30):
        tiles = tiles_together(size, LINE, 300, has_open_ends)
        assert tiles == 1 or tiles * size <= 8 * KB**2


def test_tiles_whose_last_states_share_tiles_run_together() -> None:
    assert tiles_together(120 * KB, LINE, 24, has_open_ends=False) < TILES
    assert tiles_together(120 * KB, LINE, 24, has_open_ends=True) == TILES


def test_memory_is_kept_for_a_group_that_no_second_cache_holds() -> None:
    large = sizes_of(333 * KB, 86)
    kept = kept_memory(large, lanes=8)
    assert kept is not None
    one_to_spare = large.fields[Kernel.TILES] + 1
    assert len(kept) == one_to_spare * large.bytes + LINE
    assert kept_memory(sizes_of(46 * KB, 6), lanes=8) is None
    assert kept_memory(sizes_of(10**8, 900), lanes=8) is None
