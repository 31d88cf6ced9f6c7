"""Warnings of one kind are one warning, with the names."""

from __future__ import annotations

import warnings

import ramidyn
from ramidyn.description.warning_groups import group_warnings


def test_warnings_that_differ_by_name_become_one() -> None:
    texts = [f"a.urdf:{k}: joint 'j{k}': no limit" for k in range(3)]
    assert group_warnings(texts) == ("a.urdf:0: 3 joints 'j0', 'j1', 'j2': no limit",)


def test_many_names_are_shortened_with_their_number() -> None:
    texts = [f"a.xml:{k}: body 'b{k}': no mass" for k in range(10)]
    (text,) = group_warnings(texts)
    assert text.startswith("a.xml:0: 10 bodies 'b0', 'b1', ")
    assert text.endswith("'b7' and 2 more: no mass")


def test_figures_are_kept_only_where_they_hold_for_all() -> None:
    same = [f"a:{k}: link '{k}': not positive: eigenvalues 1, 2" for k in range(2)]
    assert group_warnings(same) == (
        "a:0: 2 links '0', '1': not positive: eigenvalues 1, 2",
    )
    other = "a:7: link 'x': not positive: eigenvalues 1, 3"
    assert group_warnings([same[0], other]) == ("a:0: 2 links '0', 'x': not positive",)


def test_elements_without_names_are_given_by_line() -> None:
    texts = ["a.xml:4: body: fixed here", "a.xml:9: body: fixed here"]
    assert group_warnings(texts) == ("a.xml:4, 9: body: fixed here",)


def test_other_warnings_stay_as_they_are_and_in_order() -> None:
    texts = ("springs are data", "a.xml:4: body 'x': odd", "a.xml:5: body 'x': even")
    assert group_warnings(texts) == texts


def test_a_robot_warns_once_of_each_kind() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot = ramidyn.load(
            '<robot name="r"><link name="a"><odd/></link><link name="b"><odd/></link>'
            '<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>'
            "</robot>"
        )
    (text,) = robot.warnings
    assert text.endswith(" 2 links 'a', 'b': unknown element <odd> ignored")
    assert [str(w.message) for w in caught] == [text]


def test_all_kinds_are_lines_of_one_warning() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot = ramidyn.load(
            '<robot name="r"><link name="a"><odd/></link><link name="b"/>'
            '<joint name="j" type="fixed"><parent link="a"/><child link="b"/><even/>'
            "</joint></robot>"
        )
    assert len(robot.warnings) == 2
    assert [str(w.message) for w in caught] == ["\n".join(robot.warnings)]
