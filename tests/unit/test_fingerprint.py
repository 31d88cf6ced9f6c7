"""Equal data has equal digests, and anything else has another one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from ramidyn.version import fingerprint


@dataclass(frozen=True)
class Point:
    x: Any
    y: Any = 0.0
    note: str = field(default="", compare=False)


@dataclass(frozen=True)
class Other:
    x: Any
    y: Any = 0.0


DIFFERENT: list[Any] = [
    None,
    0,
    0.0,
    -0.0,
    False,
    "",
    "0",
    "None",
    (),
    [],
    {},
    (0,),
    (0, 0),
    ((0,), 0),
    (0, (0,)),
    ("tuple", 1),
    [0],
    {"a": 0},
    {"a": 0, "b": 0},
    {"b": 0, "a": 0},
    ("a", 0),
    Point(0.0),
    Point(0.0, 1.0),
    Point(1.0, 0.0),
    Point((0.0, 0.0)),
    Other(0.0),
    ("Point", 0.0, 0.0),
    np.zeros(2),
    np.zeros(2, dtype=np.float32),
    np.zeros((2, 1)),
    np.zeros((1, 2)),
    np.array([0.0, -0.0]),
]


def test_different_data_has_different_digests() -> None:
    digests = [fingerprint(x) for x in DIFFERENT]
    assert None not in digests
    assert len(set(digests)) == len(DIFFERENT)


@pytest.mark.parametrize(
    ("one", "same"),
    [
        (1.5, np.float64(1.5)),
        ((0.1, "a"), (0.1, "a")),
        (np.arange(6.0).reshape(2, 3).T, np.arange(6.0).reshape(2, 3).T.copy()),
        (Point(1.0, note="left"), Point(1.0, note="right")),
        (Point(np.float64(1.0)), Point(1.0)),
    ],
)
def test_equal_data_has_equal_digests(one: Any, same: Any) -> None:
    assert fingerprint(one) == fingerprint(same) is not None


def test_several_values_are_not_one_tuple_of_them() -> None:
    assert fingerprint(1, 2) != fingerprint((1, 2))


@pytest.mark.parametrize("value", [lambda: 0, object(), {1, 2}, (0, [object()])])
def test_what_is_not_plain_data_has_no_digest(value: Any) -> None:
    assert fingerprint(value) is None
