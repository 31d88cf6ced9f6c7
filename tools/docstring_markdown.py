"""Google-style docstrings as Markdown: prose, and a table for each list of names."""

from __future__ import annotations

import re
import textwrap

TABLES = {
    "Args": "argument",
    "Attributes": "attribute",
    "Raises": "error",
    "Yields": "",
    "Returns": "",
    "Example": "",
    "Examples": "",
}
"""sections of a docstring, and what the first column of their table is called"""
SECTION = re.compile(rf"^({'|'.join(TABLES)}):\n((?:(?:    .*)?\n)*(?:    .*)?)", re.M)
ENTRY = re.compile(r"^(\*{0,2}\w[\w., *]*): ?(.*(?:\n    .*)*)", re.M)
CODE = re.compile(r"(`+[^`]+`+)")


def markdown(docstring: str) -> str:
    """Return a docstring as Markdown."""
    parts: list[str] = []
    end = 0
    for found in SECTION.finditer(docstring):
        parts.append(prose(docstring[end : found.start()]))
        body = textwrap.dedent(found[2]).strip("\n")
        name = TABLES[found[1]]
        shown = table(name, body) if name else returned(body)
        parts.append(shown if name else f"**{found[1]}**\n\n{shown}")
        end = found.end()
    parts.append(prose(docstring[end:]))
    return "\n\n".join(part for part in parts if part)


def table(name: str, body: str) -> str:
    """Return entries ``name: text`` as a table of two columns."""
    lines = [f"| {name} | |", "|---|---|"]
    for entry in ENTRY.finditer(body):
        text = escaped(" ".join(entry[2].split())).replace("|", "\\|")
        lines.append(f"| `{entry[1].strip()}`{{.name}} | {text} |")
    return "\n".join(lines)


def returned(body: str) -> str:
    """Return the text of Returns: entries if all of it is entries, otherwise prose."""
    entries = "".join(m[0] + "\n" for m in ENTRY.finditer(body))
    is_table = body.count("\n") and entries.split() == body.split()
    return table("result", body) if is_table else prose(body)


def prose(text: str) -> str:
    """Return paragraphs; what is indented or typed at a prompt becomes code."""
    blocks: list[str] = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        if not block.strip():
            continue
        is_code = all(x.startswith("    ") for x in block.splitlines())
        if is_code or block.lstrip().startswith(">>>"):
            kind = "python" if ">>>" in block else "text"
            code = textwrap.dedent(block).replace("``", "")
            if blocks and kind == "text" and blocks[-1].startswith("```text"):
                blocks[-1] = f"{blocks[-1].removesuffix('```')}\n{code}\n```"
            else:
                blocks.append(f"```{kind}\n{code}\n```")
        else:
            blocks.append(mixed(block))
    return "\n\n".join(blocks)


def mixed(block: str) -> str:
    """Return a paragraph, with the indented lines in and after it as code."""
    parts: list[str] = []
    for line in block.splitlines():
        is_list = parts and re.match(r"\s*[-*] |\s+\S", line) and "- " in parts[-1][:4]
        if line.startswith("    ") and not is_list:
            if not parts or not parts[-1].startswith("```"):
                parts.append("```text")
            parts[-1] += "\n" + line[4:]
        elif not parts or parts[-1].startswith("```") or line.startswith("- "):
            parts.append(line)
        else:
            parts[-1] += "\n" + line
    closed = [p + "\n```" if p.startswith("```") else escaped(p) for p in parts]
    text = ""
    for k, part in enumerate(closed):
        joint = (
            "\n"
            if k and part.startswith("- ") and closed[k - 1][:2] == "- "
            else "\n\n"
        )
        text += (joint if text else "") + part
    return text


def escaped(text: str) -> str:
    """Return text whose marks mean themselves, except what is code already."""
    pieces = CODE.split(text.replace("``", "`"))
    for k in range(0, len(pieces), 2):
        pieces[k] = pieces[k].replace("*", "\\*").replace("<", "&lt;")
    return "".join(pieces)
