"""Robot files as XML, parsed safely; every element knows its line.

Files come from strangers and from old exporters. Entities, external references and
excessive nesting are rejected; a comment before the declaration, ``version="0.0"`` or a
namespace prefix that nobody declared is not. URDF and MJCF say everything in
attributes, so that character data is kept on request only (SDF).
"""

from __future__ import annotations

import math
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import Final
from weakref import ref
from xml.parsers import expat

from ramidyn.description.constants import Array, eigen
from ramidyn.description.formats.read import LARGEST_FILE, read_source, short, too_large
from ramidyn.errors import ModelError

__all__ = [
    "CONTENT",
    "Element",
    "fault",
    "number",
    "numbers",
    "parse_xml",
    "read_source",
    "where",
    "word",
]

WITH_TEXT: Final = frozenset(("mechanicalReduction",))
"""the elements whose text is kept; everything else is in attributes"""
LARGEST: Final = 1e100
"""No length, mass or inertia beyond this: products of a few stay finite."""
CONTENT: Final = ""
"""in place of an attribute's name: the text of the element itself"""
DEEPEST: Final = 1000
MOST_ELEMENTS: Final = 1_000_000

_TEXT: Final = re.compile(r"\S")
_SHORTHAND: Final = re.compile(r"\$\(|\$\{")
_XACRO: Final = "it is left over from xacro: run xacro on the file first"


class Element(ET.Element):
    """An XML element that knows where it stands."""

    __slots__ = ("label", "line", "outer")

    label: str
    """the file's name, or what the caller called the text"""
    line: int
    outer: ref[Element] | None
    """the element around it, held weakly: a large file is gone when it is read"""


# ------------------------------------------------------------ from text to elements


def parse_xml(text: str, label: str, *, keep_text: bool = False) -> Element:
    """Return the root element of an XML text.

    Args:
        text: the whole document
        label: what errors call it, usually the file's name
        keep_text: keep the text of every element

    Raises:
        ModelError: not well-formed XML, or XML with entities, references to other
            files or absurd depth; the message begins with ``label:line:column``.
    """
    if len(text) > LARGEST_FILE:
        raise ModelError(too_large(label))
    if not text.strip("\ufeff \t\r\n"):
        raise ModelError(f"{label}: empty; expected URDF, MJCF or SDF")
    try:
        data = _without_declaration(text.removeprefix("\ufeff")).encode()
    except UnicodeEncodeError as e:
        raise ModelError(f"{label}: not Unicode text ({e.reason})") from None
    return _ElementBuilder(label, keep_text).parse(data)


class _ElementBuilder:
    """The handlers that turn expat's events into elements."""

    def __init__(self, label: str, keep_text: bool) -> None:
        self.label = label
        self.keep_text = keep_text
        self.root: Element | None = None
        self.open: list[Element] = []
        self.count = 0
        self.parser = parser = expat.ParserCreate("utf-8")
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.StartDoctypeDeclHandler = self.doctype
        if keep_text:
            parser.CharacterDataHandler = self.text

    def parse(self, data: bytes) -> Element:
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as e:
            raise ModelError(self.problem(e)) from None
        root, self.root = self.root, None  # its parser and this hold each other
        assert root is not None
        return root

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes)
        element.label = self.label
        element.line = self.parser.CurrentLineNumber
        self.count += 1
        around = self.open
        if around:
            outer = around[-1]
            outer.append(element)
            element.outer = ref(outer)
        else:
            element.outer = None
            self.root = element
        around.append(element)
        if len(around) > DEEPEST:
            raise self.refused(f"elements nested deeper than {DEEPEST}")
        if self.count > MOST_ELEMENTS:
            raise self.refused(f"more than {MOST_ELEMENTS} elements")
        if tag in WITH_TEXT:
            self.parser.CharacterDataHandler = self.text

    def end(self, tag: str) -> None:
        self.open.pop()
        if tag in WITH_TEXT and not self.keep_text:
            self.parser.CharacterDataHandler = None

    def text(self, data: str) -> None:
        element = self.open[-1]
        element.text = (element.text or "") + data

    def doctype(
        self, _name: str, system: str | None, _public: str | None, has_subset: int
    ) -> None:
        if system is not None or has_subset:
            raise self.refused(
                "a document type with entities or external references; remove the "
                "<!DOCTYPE ...> of the file"
            )

    def refused(self, what: str) -> ModelError:
        line, column = self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber
        return ModelError(f"{self.label}:{line}:{column + 1}: refused: {what}")

    def problem(self, e: expat.ExpatError) -> str:
        at = f"{self.label}:{e.lineno}:{e.offset + 1}"
        said = expat.ErrorString(e.code)
        if (
            said == expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT
            and self.root is not None
        ):
            return (
                f"{at}: content after the end of <{self.root.tag}>; only comments may "
                "follow it"
            )
        where_open = ""
        if self.open:
            last = self.open[-1]
            where_open = f", inside <{last.tag}> on line {last.line}"
        return f"{at}: not well-formed XML: {said}{where_open}"


def _without_declaration(text: str) -> str:
    """Blank out the XML declaration, which may follow comments, and keep all lines."""
    at = 0
    while (found := _TEXT.search(text, at)) and text.startswith("<!--", found.start()):
        at = text.find("-->", found.start()) + 3
        if at < 3:
            return text
    at = found.start() if found else 0
    end = text.find("?>", at)
    if end < 0 or not re.match(r"<\?xml\s", text[at : at + 6]):
        return text
    lines = text.count("\n", at, end)
    pad = " " * (end + 2 - at - lines)
    return text[:at] + "\n" * lines + pad + text[end + 2 :]


# ------------------------------------------------------------ from elements to values


def where(element: ET.Element) -> str:
    """Return ``file:line: element 'name'``, the way an error begins.

    An element without a name is told by the named one around it:
    ``robot.urdf:12: joint 'knee': origin``.
    """
    label, line = getattr(element, "label", "XML"), getattr(element, "line", 0)
    at = f"{label}:{line}" if line else str(label)
    name = element.get("name")
    if name is not None:
        return f"{at}: {element.tag} {short(name)!r}"
    path = element.tag
    outer = _outer(element)
    while outer is not None and _outer(outer) is not None:
        name = outer.get("name")
        if name is not None:
            return f"{at}: {outer.tag} {short(name)!r}: {path}"
        path = f"{outer.tag} {path}"
        outer = _outer(outer)
    return f"{at}: {path}"


def _outer(element: ET.Element) -> Element | None:
    outer: ref[Element] | None = getattr(element, "outer", None)
    return None if outer is None else outer()


def fault(element: ET.Element, message: str) -> ModelError:
    """Return the error about an element, beginning with its place."""
    return ModelError(f"{where(element)}: {message}")


def word(element: ET.Element, attribute: str) -> str:
    """Return a required attribute, or the element's text, without blanks around it."""
    text = (_given_text(element, attribute) or "").strip()
    if not text and attribute == CONTENT:
        raise fault(element, "an empty element; a value is required")
    if not text:
        had = "an empty" if attribute in element.attrib else "no"
        raise fault(element, f"{had} attribute {attribute!r}; it is required")
    if "$" in text and _SHORTHAND.search(text):
        at = f"{attribute}: " if attribute else ""
        raise fault(element, f"{at}cannot read {short(text)!r}; {_XACRO}")
    return text


def _given_text(element: ET.Element, attribute: str) -> str | None:
    return element.get(attribute) if attribute else element.text


def number(
    element: ET.Element,
    attribute: str,
    default: float | None = None,
    *,
    largest: float = sys.float_info.max,
) -> float:
    """Return an attribute that is one finite number.

    Args:
        element: where it stands
        attribute: its name, or CONTENT
        default: the value where the attribute is absent; None: it is required
        largest: the largest magnitude allowed

    Raises:
        ModelError: absent, no number, more than one, NaN or infinite.
    """
    text = element.get(attribute) if attribute else element.text
    if text is None and default is not None:
        return default
    if text and text.isascii() and "_" not in text:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if -largest <= value <= largest:  # NaN is in no range
            return value
    return _finite(element, attribute, word(element, attribute), largest)


def numbers(
    element: ET.Element,
    attribute: str,
    count: int | range | None,
    default: Sequence[float] | None = None,
    *,
    largest: float = sys.float_info.max,
) -> tuple[float, ...]:
    """Return an attribute that is a list of finite numbers.

    Args:
        element: where it stands
        attribute: its name
        count: how many there must be: a number, a range, or None for any
        default: the value where the attribute is absent; None: it is required
        largest: the largest magnitude allowed

    Raises:
        ModelError: absent, no numbers, not as many as asked, NaN or infinite.
    """
    text = element.get(attribute) if attribute else element.text
    if text is None and default is not None:
        return tuple(default)
    values = _plain(text, largest)
    if not values:
        text = word(element, attribute)
        values = tuple(_finite(element, attribute, t, largest) for t in text.split())
    if count is None or len(values) == count:
        return values
    if isinstance(count, range):
        if len(values) in count:
            return values
        expected = f"{count[0]} to {count[-1]} numbers"
    else:
        expected = f"{count} number{'s' if count > 1 else ''}"
    at = f"{attribute}=" if attribute else ""
    raise fault(
        element,
        f"{at}{short((text or '').strip())!r} has {len(values)} numbers; "
        f"expected {expected}",
    )


def _plain(text: str | None, largest: float) -> tuple[float, ...]:
    """Return the numbers of a text without fault; none where there is one to tell.

    Large files are mostly numbers: the slow way is for those that need a message.
    """
    if not text or not text.isascii() or "_" in text:
        return ()
    try:
        values = tuple(map(float, text.split()))
    except ValueError:
        return ()
    for value in values:
        if not -largest <= value <= largest:  # NaN is in no range
            return ()
    return values


def _finite(element: ET.Element, attribute: str, text: str, largest: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isfinite(value) and "_" not in text and text.isascii():
        if abs(value) <= largest:
            return value
        at = f"{attribute}=" if attribute else ""
        raise fault(
            element,
            f"{at}{short(text)!r} is beyond {largest:g}; expected a number that a "
            "robot can have",
        )
    whole = (_given_text(element, attribute) or text).strip()
    inside = "" if text == whole else f" in {short(whole)!r}"
    at = f"{attribute}: " if attribute else ""
    raise fault(
        element,
        f"{at}cannot read {short(text)!r}{inside}; expected a finite number",
    )


def warn_unphysical(link: ET.Element, I: Array, warnings: list[str]) -> None:
    """Warn of an inertia that no mass distribution has.

    Files are rounded: a millionth of the largest eigenvalue is not a fault, nor is
    1e-15 kg m², which is less than that of a grain of sand.
    """
    values = eigen(I)[0]
    low, middle, high = values
    size = max(-low, high)
    tolerance = 1e-6 * size + 1e-15
    if low < -tolerance:
        what = "is not positive semidefinite"
    elif low + middle < high - tolerance:
        what = (
            "violates the triangle inequality (the sum of two must be at least the "
            "third)"
        )
    else:
        return
    shown = ", ".join(f"{x if abs(x) > 1e-12 * size else 0:.4g}" for x in values)
    warnings.append(f"{where(link)}: the inertia {what}: eigenvalues {shown} kg m²")
