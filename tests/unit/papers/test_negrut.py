"""Negrut, Serban & Potra (1997): what the page says of differences is counted."""

from __future__ import annotations

import pytest

from ramidyn.algorithms.loops.counting import STEPS, joint_formulation_counts
from ramidyn.catalog.paper_robots import hmmwv
from ramidyn.papers import negrut
from ramidyn.papers import negrut_solvers as differences
from ramidyn.papers.document import robot_of
from ramidyn.robot import Robot
from ramidyn.symbolic.count import Ops

Counts = tuple[Robot, dict[str, Ops]]


@pytest.fixture(scope="module")
def counts() -> Counts:
    robot = robot_of(hmmwv("general"))
    columns = negrut.columns_of(robot)
    return robot, joint_formulation_counts(robot.tree.dof_parents, columns)


def test_block_cholesky_takes_what_the_paper_prints(counts: Counts) -> None:
    robot, ours = counts
    block = negrut.block_count(robot)
    printed = negrut.printed_row(negrut.SPARSE, "1")
    assert {"A": block.add, "M": block.mul, "D": block.div, "SQ": block.sqrt} == printed
    assert block.add - ours["1"].add == 15 * 21


def test_explanations_give_the_printed_numbers(counts: Counts) -> None:
    robot, ours = counts
    notes = negrut.step_notes(robot, ours)
    assert "15 · 21 more A and M" in notes["1"]
    assert "divides 27 times here" in notes["2"]
    assert "4 · 33 more M" in notes["3.3"]
    assert "680 A, 680 M and 120 D; ours solves too" in notes["3.4"]
    assert "subtracts 27 entries of y" in notes["4"]
    assert not any("which is not all" in note for note in notes.values())
    for step in ("3.2", "3.5"):
        assert "174 entries of T" in notes[step]
        assert notes[step].endswith(differences.NO_CAUSE)
    assert set(notes) <= set(STEPS)


def test_an_explanation_that_falls_short_says_so(counts: Counts) -> None:
    robot, ours = counts
    other = {**negrut.printed_row(negrut.SPARSE, "1"), "A": 976}
    assert differences.step1(robot, other, ours["1"]).endswith(", which is not all")
    other = {**negrut.printed_row(negrut.SPARSE, "4"), "A": 193}
    assert differences.step4(other, ours["4"], 27).endswith(", which is not all")
    assert differences.step34(15, negrut.printed_row(negrut.SPARSE, "3.4")).endswith(
        ", which is not all"
    )


def test_the_dense_sums_are_those_of_the_paper_or_said_to_differ() -> None:
    note = differences.dense_total(negrut.DENSE["A"])
    assert note == "step 3.4; the printed A add up to 16,274, not 15,914"
    assert differences.dense_total([1, 2, 3]) == "step 3.4"
    step = differences.dense34(16, negrut.printed_row(negrut.DENSE, "3.4"))
    assert step.startswith("factor 680 A and M, two solves 240; ")
