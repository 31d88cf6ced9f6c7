"""Robot files as XML: what is read, what is refused, and with which words."""

from __future__ import annotations

import gc
import os
import re
import time
from pathlib import Path
from weakref import ref

import pytest

from ramidyn.description.formats import read as source
from ramidyn.description.formats.xml import (
    Element,
    fault,
    number,
    numbers,
    parse_xml,
    read_source,
    where,
    word,
)
from ramidyn.errors import ModelError

ROOTS: list[Element] = []
"""kept here: an element does not keep alive what is around it"""


def element(attributes: str) -> Element:
    text = (
        f'<robot name="r">\n\n<joint name="knee"><origin {attributes}/></joint></robot>'
    )
    ROOTS.append(parse_xml(text, "leg.urdf"))
    return ROOTS[-1].find("joint/origin")  # type: ignore[return-value]


def test_a_document_is_gone_as_soon_as_nobody_needs_it() -> None:
    root = parse_xml("<robot><link/></robot>", "leg.urdf")
    link = ref(root[0])
    gc.disable()
    try:
        del root
        assert link() is None
    finally:
        gc.enable()


# ------------------------------------------------------------ sources


@pytest.mark.parametrize("text", ["<robot/>", "\ufeff<robot/>", "\n\t <robot/>"])
def test_text_that_begins_with_a_bracket_is_xml(text: str) -> None:
    read, path = read_source(text)
    assert path is None
    assert parse_xml(read, "text").tag == "robot"


@pytest.mark.parametrize("make", [str, Path])
def test_anything_else_is_a_path(tmp_path: Path, make: type) -> None:
    file = tmp_path / "r.urdf"
    file.write_text("<robot/>")
    assert read_source(make(file)) == ("<robot/>", file)


HELLO = '<?xml version="1.0" encoding="{}"?><robot name="Größe"/>'


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "UTF-8"),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16"),
        ("utf-16-be", "utf-16"),
        ("utf-32", "utf-32"),
        ("latin-1", "ISO-8859-1"),
        ("latin-1", "latin-1"),
        ("cp1252", "windows-1252"),
        ("utf-8", "utf-16"),
    ],
)
def test_encodings_are_told_apart(tmp_path: Path, encoding: str, declared: str) -> None:
    file = tmp_path / "r.urdf"
    file.write_bytes(HELLO.format(declared).encode(encoding))
    assert parse_xml(read_source(file)[0], "r.urdf").get("name") == "Größe"


def test_undecodable_files_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "r.urdf"
    file.write_bytes('<robot name="Größe"/>'.encode("latin-1"))
    with pytest.raises(ModelError, match="not utf-8 text at byte 15; save the file as"):
        read_source(file)


@pytest.mark.parametrize("name", ["klingon", "zlib", "rot13", "unicode_escape", "idna"])
def test_odd_encodings_are_refused(tmp_path: Path, name: str) -> None:
    file = tmp_path / "r.urdf"
    file.write_text(HELLO.format(name), "utf-8")
    with pytest.raises(
        ModelError, match=f"unknown encoding '{name}'; save the file as"
    ):
        read_source(file)


def test_missing_files_are_told_with_close_names(tmp_path: Path) -> None:
    (tmp_path / "panda.urdf").write_text("<robot/>")
    with pytest.raises(
        ModelError, match=r"pandas\.urdf: no such file; close to it: 'pan"
    ):
        read_source(tmp_path / "pandas.urdf")
    with pytest.raises(ModelError, match=r"no such file, and no directory .*nowhere"):
        read_source(tmp_path / "nowhere" / "panda.urdf")


def test_directories_are_refused_with_what_is_in_them(tmp_path: Path) -> None:
    (tmp_path / "panda.urdf").write_text("<robot/>")
    with pytest.raises(
        ModelError, match="a directory; expected a URDF, MJCF or SDF file; in"
    ):
        read_source(tmp_path)


@pytest.mark.parametrize("content", [b"", b" \n", b"\xef\xbb\xbf"])
def test_empty_files_are_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "r.urdf"
    file.write_bytes(content)
    with pytest.raises(ModelError, match=r"r\.urdf: the file is empty; expected URDF"):
        read_source(file)


def test_100_megabytes_of_junk_are_refused_at_once(tmp_path: Path) -> None:
    file = tmp_path / "junk.urdf"
    with file.open("wb") as f:
        f.truncate(100 * 2**20)
    with pytest.raises(
        ModelError, match=r"junk\.urdf: larger than 64 MB; expected a URD"
    ):
        read_source(file)


def test_long_texts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ramidyn.description.formats.xml.LARGEST_FILE", 10)
    with pytest.raises(ModelError, match="text: larger than 64 MB"):
        parse_xml("<robot      />", "text")


@pytest.mark.parametrize("text", ["", "  ", "\ufeff"])
def test_empty_texts_are_refused(text: str) -> None:
    with pytest.raises(ModelError, match="an empty text: expected a path, or XML text"):
        read_source(text)
    with pytest.raises(ModelError, match="text: empty; expected URDF, MJCF or SDF"):
        parse_xml(text, "text")


@pytest.mark.parametrize("text", ["x" * 5000, "~nobody_has_this_name/robot.urdf"])
def test_what_cannot_be_a_path_is_refused(text: str) -> None:
    with pytest.raises(
        ModelError, match=r"neither a path nor XML text \(which starts with '<'\)"
    ):
        read_source(text)


def test_nul_in_a_path_is_refused() -> None:
    with pytest.raises(ModelError, match=r"a\\x00b: no such file"):
        read_source("a\0b")


def test_other_types_are_refused() -> None:
    with pytest.raises(
        ModelError, match="a robot of type NoneType: expected a path, or"
    ):
        read_source(None)  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_pipes_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelError, match="pipe: not a regular file"):
        read_source(tmp_path / "pipe")


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="root reads all")
def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "r.urdf"
    file.write_text("<robot/>")
    file.chmod(0)
    with pytest.raises(
        ModelError, match=r"r\.urdf: cannot be read \(Permission denied\)"
    ):
        read_source(file)


# ------------------------------------------------------------ documents


@pytest.mark.parametrize(
    "text",
    [
        '<?xml version="0.0"?><robot/>',
        '\n\n<?xml version="1.0"?>\n<robot/>',
        '<!-- made by hand --> <!-- twice -->\n<?xml version="1.0" ?><robot/>',
        '<?xml version="1.0" encoding="latin-1" standalone="yes"?><robot/>',
        "<!DOCTYPE robot><robot/>",
        '<robot xmlns="http://drake.mit.edu"><drake:joint a:b="1"/></robot>',
        "<robot/><!-- the end -->\n\n",
        "<robot>stray text &amp; <![CDATA[ more < of it ]]></robot>",
    ],
)
def test_dirty_files_of_the_real_world_are_read(text: str) -> None:
    assert parse_xml(text, "r.urdf").tag == "robot"


def test_elements_know_their_lines() -> None:
    text = '<!-- x -->\n<?xml\nversion="1.0"?>\n<robot>\n\n<link/><a>\n<b/></a></robot>'
    root = parse_xml(text, "r.urdf")
    assert [e.line for e in root.iter()] == [4, 6, 6, 7]  # type: ignore[attr-defined]
    assert where(root.find("a/b")) == "r.urdf:7: a b"  # type: ignore[arg-type]


BOMB = "".join(f'<!ENTITY a{i + 1} "{f"&a{i};" * 10}">' for i in range(10))
REFUSED = "refused: a document type with entities or external references; remove the"


def test_document_with_too_many_elements_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ramidyn.description.formats.xml.MOST_ELEMENTS", 100)
    with pytest.raises(ModelError, match="refused: more than 100 elements"):
        parse_xml("<a>" + "<b/>" * 100 + "</a>", "r.urdf")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("robot", r"r\.urdf:1:1: not well-formed XML: syntax error"),
        (
            "<robot>",
            r"r\.urdf:1:8: not well-formed XML: no element found, inside <robot>",
        ),
        ("<robot>\n<a></b>", r"r\.urdf:2:6: .*mismatched tag, inside <a> on line 2"),
        (
            '<robot a="1" a="2"/>',
            r"r\.urdf:1:14: not well-formed XML: duplicate attribute",
        ),
        ("<robot a=1/>", r"not well-formed \(invalid token\)"),
        (
            "<robot/>\njunk",
            r"r\.urdf:2:1: content after the end of <robot>; only",
        ),
        ("<robot/><robot/>", "content after the end of <robot>"),
        ("<robot>&b;</robot>", "undefined entity, inside <robot> on line 1"),
        ("<robot>\0</robot>", "invalid token"),
        ("<robot a='\ud800'/>", r"not Unicode text \(surrogates not allowed\)"),
        ("<!-- no end", r"r\.urdf:1:1: not well-formed XML: unclosed token"),
        ('<?xml version="1.0"', "not well-formed XML"),
        ("<!-- only a comment -->", "no element found"),
        (f"<!DOCTYPE r [<!ENTITY a0 'ha'>{BOMB}]><robot>&a9;</robot>", REFUSED),
        ('<!DOCTYPE r SYSTEM "file:///etc/passwd"><robot/>', REFUSED),
        ('<!DOCTYPE r PUBLIC "p" "http://a.b/c.dtd"><robot/>', REFUSED),
        ('<!DOCTYPE r [<!ENTITY x SYSTEM "/etc/passwd">]><r>&x;</r>', REFUSED),
        ('<!DOCTYPE r [<!ENTITY % p SYSTEM "x"> %p;]><r/>', REFUSED),
        ('<!DOCTYPE r [<!ATTLIST r a CDATA "1">]><r/>', REFUSED),
        ("<a>" * 1001, "refused: elements nested deeper than 1000"),
        ("<a>" * 100_000, "refused: elements nested deeper than 1000"),
    ],
    ids=lambda text: re.sub(r"\W+", "_", text[:24]),
)
def test_bad_documents_are_refused_with_their_place(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message) as refused:
        parse_xml(text, "r.urdf")
    assert str(refused.value).startswith("r.urdf:")


def test_a_thousand_levels_are_read() -> None:
    assert parse_xml("<a>" * 1000 + "</a>" * 1000, "deep").tag == "a"


def test_many_comments_before_the_declaration_do_not_hang() -> None:
    text = "<!---->" * 1_000_000 + '<?xml version="1.0"?><robot/>'
    start = time.process_time()
    assert parse_xml(text, "text").tag == "robot"
    assert time.process_time() - start < 60  # 1 s; growing as n², it would be minutes


# ------------------------------------------------------------ values


def test_numbers_are_read() -> None:
    e = element('x=" 1.5 " xyz="1 -2e-3\n+.5" any="1 2"')
    assert number(e, "x") == 1.5
    assert numbers(e, "xyz", 3) == (1.0, -0.002, 0.5)
    assert numbers(e, "any", None) == numbers(e, "any", range(1, 4)) == (1.0, 2.0)
    assert number(e, "absent", 7.0) == 7.0
    assert numbers(e, "absent", 3, (1, 2, 3)) == (1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    "text", ["nan", "inf", "-Infinity", "1e999", "1.0abc", "1_000", "0x10", "1,5", "١"]
)
def test_what_is_no_finite_number_is_refused(text: str) -> None:
    expected = (
        rf"leg\.urdf:3: joint 'knee': origin: xyz: cannot read '{text}' "
        f"in '0 {text} 1'; expected a finite number"
    )
    with pytest.raises(ModelError, match=expected):
        numbers(element(f'xyz="0 {text} 1"'), "xyz", 3)
    with pytest.raises(ModelError, match=f"x: cannot read '{text}'; expected a finite"):
        number(element(f'x="{text}"'), "x")


def test_wrong_counts_are_refused() -> None:
    e = element('xyz="1 2" one="1 2"')
    with pytest.raises(ModelError, match="xyz='1 2' has 2 numbers; expected 3 numbers"):
        numbers(e, "xyz", 3)
    with pytest.raises(
        ModelError, match="xyz='1 2' has 2 numbers; expected 3 to 5 num"
    ):
        numbers(e, "xyz", range(3, 6))
    with pytest.raises(ModelError, match="one: cannot read '1 2'; expected a finite"):
        number(e, "one")


def test_absurd_magnitudes_are_refused_where_asked() -> None:
    e = element('x="-1e200"')
    assert number(e, "x") == -1e200
    with pytest.raises(
        ModelError, match=r"x='-1e200' is beyond 1e\+100; expected a num"
    ):
        number(e, "x", largest=1e100)


def test_required_attributes_are_asked_for() -> None:
    e = element('link=" "')
    with pytest.raises(
        ModelError, match="origin: an empty attribute 'link'; it is req"
    ):
        word(e, "link")
    with pytest.raises(ModelError, match="origin: no attribute 'xyz'; it is required"):
        numbers(e, "xyz", 3)


@pytest.mark.parametrize("text", ["${width/2} 0 0", "$(arg x) 0 0"])
def test_xacro_leftovers_are_explained(text: str) -> None:
    with pytest.raises(
        ModelError, match=r"xyz: cannot read '\$.*run xacro on the file fi"
    ):
        numbers(element(f'xyz="{text}"'), "xyz", 3)


def test_errors_name_the_nearest_named_element() -> None:
    root = parse_xml('<robot name="r"><a name="b"/><c><d/></c></robot>', "r.urdf")
    assert str(fault(root[0], "no")) == "r.urdf:1: a 'b': no"
    assert str(fault(root[1][0], "no")) == "r.urdf:1: c d: no"
    assert str(fault(element(""), "no")) == "leg.urdf:3: joint 'knee': origin: no"


def test_long_texts_are_shortened_in_errors() -> None:
    assert source.short("x" * 500) == "x" * 100 + "... (500 characters)"
