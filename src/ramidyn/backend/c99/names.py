"""Names, comments and numbers in C; text from robot files is data, never code.

An identifier is made of ASCII letters, digits and single underscores, is not a word of
C, C++ or their libraries, and is at most LONGEST characters long. A comment holds
printable ASCII only, and nothing that could end it.
"""

from __future__ import annotations

import re
import struct
import unicodedata
from collections.abc import Iterable
from typing import Final, final

from ramidyn.errors import CompileError

LONGEST: Final = 48
LONGEST_COMMENT: Final = 72
WIDTH: Final = 96
TIE: Final = "\0"

_WORDS: Final = re.findall(
    r"\w+",
    """
auto break case char const continue default do double else enum extern float for goto
if inline int long register restrict return short signed sizeof static struct switch
typedef union unsigned void volatile while alignas alignof and and_eq asm bitand bitor
bool catch char8_t char16_t char32_t class co_await co_return co_yield compl concept
const_cast consteval constexpr constinit decltype delete dynamic_cast explicit export
false final friend import module mutable namespace new noexcept not not_eq nullptr
operator or or_eq override private protected public reinterpret_cast requires
static_assert static_cast template this thread_local throw true try typeid typename
using virtual wchar_t xor xor_eq typeof NULL EOF main linux unix i386 I complex
imaginary RESTRICT APART LANES values load store sin_cos far_sum copy all_done unused
acos acosh asin asinh atan atan2
atanh cbrt ceil copysign cos cosh drem erf erfc exp exp2 exp10 expm1 fabs fdim finite
floor fma fmax fmin fmod fpclassify frexp gamma hypot ilogb infinity isfinite
isgreater isgreaterequal isinf isless islessequal islessgreater isnan isnormal
isunordered j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2 logb lrint
lround math_errhandling matherr modf nan nearbyint nextafter nexttoward pow pow10
remainder remquo rint round scalb scalbln scalbn signbit signgam significand sin
sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn HUGE_VAL HUGE INFINITY NAN DOMAIN SING
OVERFLOW UNDERFLOW PLOSS TLOSS double_t float_t signgamf abs labs llabs div ldiv
printf size_t errno
""",
)
RESERVED: Final = frozenset(
    [*_WORDS, *(f"{w}{s}" for w in _WORDS for s in "fl" if w.islower())]
)


def identifier(name: str) -> str:
    """Return a valid C and C++ name, as close to the given one as possible."""
    shortened = name if len(name) <= 4 * LONGEST else name[:LONGEST] + name[-LONGEST:]
    plain = unicodedata.normalize("NFKD", shortened)
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    clean = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_")
    if len(clean) > LONGEST:  # the end says which entry it is
        clean = clean[: LONGEST - 13].rstrip("_") + "_" + clean[-12:].lstrip("_")
    if not clean:
        clean = "unnamed"
    if clean[0].isdigit():
        clean = f"n{clean}"
    # Capitals with underscores may be macros: E_..., M_PI, SIG_...
    is_macro = re.fullmatch(r"(M|[A-Z]{2,})_[A-Z0-9_]+", clean) is not None
    return f"{clean}_" if is_macro or clean in RESERVED else clean


@final
class Names:
    """Names in use in one scope; a name requested twice gets a number."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def unique(self, name: str) -> str:
        """Return an identifier for ``name`` that is unused in this scope."""
        wanted = identifier(name)
        found = wanted
        while found in self._taken:
            k = self._next[wanted] = self._next.get(wanted, 1) + 1
            found = f"{wanted}_{k}" if not wanted.endswith("_") else f"{wanted}{k}"
        self._taken.add(found)
        return found


def comment(text: str, longest: int = LONGEST_COMMENT) -> str:
    """Return text that stays inside a comment, whatever it says."""
    out: list[str] = []
    for c in text[: longest + 1]:
        if c.isascii() and c.isprintable() and c not in "*\\?":
            out.append(c)
        else:
            out.append(f"\\x{ord(c):02x}")
    shown = "".join(out).rstrip("/ ")
    return shown if len(shown) <= longest else shown[: longest - 3].rstrip("/ ") + "..."


def number(value: float, dtype: str) -> str:
    """Return the shortest constant that reads back as the same number."""
    if dtype == "float64":
        text = repr(value)
        return text if any(c in text for c in ".e") else f"{text}.0"
    text = repr(_shortest_single(value))
    return (text if any(c in text for c in ".e") else f"{text}.0") + "f"


def _shortest_single(value: float) -> float:
    """Return the double with the fewest digits that rounds to the same float."""
    try:
        single = struct.pack("<f", value)
    except OverflowError:
        raise CompileError(f"the constant {value} is too large for float32") from None
    exact: float = struct.unpack("<f", single)[0]
    for digits in range(1, 10):
        short = float(f"{exact:.{digits}g}")
        if abs(short) < 3.4e38 and struct.pack("<f", short) == single:
            return short
    return exact


def wrap_statement(statement: str, indent: int) -> list[str]:
    """Return a statement as lines of at most WIDTH characters, broken before signs."""
    pad = " " * indent
    if indent + len(statement) <= WIDTH:
        return [pad + statement.replace(TIE, " ")]
    statement = re.sub(r" ([*/]) ", rf"{TIE}\1{TIE}", statement)
    statement = re.sub(r" ([-+?:]) ", rf" \1{TIE}", statement)
    lines: list[str] = []
    line = pad
    for word in statement.split(" "):
        if len(line) + len(word) > WIDTH and line.strip():
            lines.append(line.rstrip())
            line = pad + " " * 8
        line += word.replace(TIE, " ") + " "
    lines.append(line.rstrip())
    return lines


def tie_words(text: str) -> str:
    """Return text that `wrap_statement` does not break."""
    return text.replace(" ", TIE)
