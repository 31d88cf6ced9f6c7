"""Sweeps say in the program where they are, and label what algorithms keep."""

from __future__ import annotations

import pytest

import ramidyn
from ramidyn.algorithms.sweeps import inward, label_value, outward
from ramidyn.compiler import program_of
from ramidyn.export import glossary
from ramidyn.robot import Robot
from ramidyn.spatial.vector3 import Vec
from ramidyn.spatial.vectors import Force
from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.trace import trace
from ramidyn.tracing.quantity import Quantity
from ramidyn.tree.tree import Tree


def tree() -> Tree:
    return ramidyn.robots.chain(3).model.tree


def test_outward_labels_what_was_found_after_each_body() -> None:
    def f(x: Expr) -> list[Expr]:
        w: dict[int, Expr] = {}
        for i, p in outward(tree(), "velocity", w=w):
            w[i] = w.get(p, x) * x
        return list(w.values())

    program = trace(f, {"x": ()})
    assert sorted(program.labels.values()) == ["w_body0", "w_body1", "w_body2"]
    assert program.regions[1:] == tuple(f"velocity body{i}" for i in range(3))


def test_inward_labels_sums_only_when_they_are_complete() -> None:
    def f(x: Expr) -> list[Expr]:
        h = {i: x * float(i + 2) for i in range(-1, 3)}
        for i, p in inward(tree(), "momentum", h=h):
            h[p] = h[p] + h[i] * x
        return list(h.values())

    program = trace(f, {"x": ()})
    labeled = {name: e for e, name in program.labels.items()}
    assert set(labeled) == {"h_body0", "h_body1", "h_body2"}
    assert labeled["h_body2"].op == "mul"
    assert labeled["h_body1"].op == labeled["h_body0"].op == "add"
    assert program.regions[1:] == tuple(f"momentum body{i}" for i in (2, 1, 0))


def test_a_force_without_a_letter_is_n_and_f() -> None:
    def f(x: Vec) -> list[Expr]:
        n = Vec(e * e for e in x)
        label_value("", "knee", Force(n, n + n))
        return [*n, *(n + n)]

    names = set(trace(f, {"x": 3}).labels.values())
    assert names == {f"{letter}_knee_{axis}" for letter in "nf" for axis in "xyz"}


LETTERS = {"IA_I_body1", "Ud_f_body1"}


@pytest.mark.parametrize(
    ("quantity", "letters"),
    [
        (
            ramidyn.forward_dynamics(algorithm="aba"),
            LETTERS | {"u_body1", "pA_n_body1"},
        ),
        (ramidyn.mass_matrix_inverse(algorithm="aba"), LETTERS),
        (ramidyn.operational_inertia_inverse("body2", algorithm="efpa"), LETTERS),
    ],
)
def test_every_algorithm_of_the_articulated_sweep_has_its_labels(
    quantity: Quantity, letters: set[str]
) -> None:
    labels = program_of(quantity, ramidyn.robots.chain(3)).labels.values()
    for letter in letters:
        assert any(name.startswith(letter) for name in labels), letter


def test_constrained_aba_has_the_labels_of_the_articulated_sweep() -> None:
    quantity = ramidyn.forward_dynamics(algorithm="constrained_aba")
    labels = program_of(quantity, ramidyn.robots.hmmwv("general")).labels.values()
    for letter in ("IA_I", "pA_n", "U_n", "Ud_f", "u"):
        assert any(name.startswith(f"{letter}_") for name in labels), letter


def test_forward_dynamics_labels_what_is_beyond_the_reference_motion() -> None:
    robot = ramidyn.robots.chain(3)
    labels = steps_of_labels(ramidyn.forward_dynamics(algorithm="aba"), robot)
    assert labels["wd_body1"] == labels["a_body1"] == "net force body1"
    assert labels["dwd_body1"] == labels["da_body1"] == "joint acceleration body1"
    given = steps_of_labels(ramidyn.inverse_dynamics, robot)
    assert given["wd_body1"] == "net force body1"
    assert not {"dwd_body1", "da_body1"} & set(given)


@pytest.mark.parametrize(
    "quantity",
    [
        ramidyn.inverse_dynamics,
        ramidyn.forward_dynamics(algorithm="aba"),
        ramidyn.mass_matrix,
    ],
)
def test_exported_c_explains_all_labels_and_steps(quantity: Quantity) -> None:
    robot = ramidyn.robots.chain(3)
    for label, step in steps_of_labels(quantity, robot).items():
        assert label.rpartition("_")[0] in glossary.LETTERS, label
        assert step.rpartition(" ")[0] in glossary.STEPS, step


def steps_of_labels(quantity: Quantity, robot: Robot) -> dict[str, str]:
    """Return the last step that computes each labeled value, axes left out."""
    program = program_of(quantity, robot)
    return {
        name.removeprefix("minus_").rstrip("xyz").rstrip("_"): program.regions[e.region]
        for e, name in program.labels.items()
    }
