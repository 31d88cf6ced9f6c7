"""``ramidyn cache``: show or clear the compiled code on disk."""

from __future__ import annotations

import click
from rich.filesize import decimal

from ramidyn.backend.llvm import cache
from ramidyn.cli.screen import console, json_option, paragraph, print_json


@click.command("cache")
@click.argument("action", type=click.Choice(["show", "clear"]), default="show")
@json_option
def command(action: str, as_json: bool) -> None:
    """Show or clear the compiled code on disk.

    RAMIDYN_CACHE_DIR moves the folder ("off": no cache), RAMIDYN_CACHE_SIZE_MB bounds
    it (512 by default); when it is full, the oldest are removed first.
    """
    folder = cache.directory()
    files = list(folder.glob("*.ramidyn")) if folder is not None else []
    size = sum(f.stat().st_size for f in files)
    if action == "clear":
        cache.clear()
    if as_json:
        data = {"folder": str(folder) if folder else None, "kernels": len(files)}
        print_json({**data, "bytes": size, "cleared": action == "clear"})
        return
    if folder is None:
        console().print("The cache is off (RAMIDYN_CACHE_DIR).")
        return
    word = "Cleared" if action == "clear" else "Holds"
    paragraph(f"{folder}\n{word} {len(files):,} kernels, {decimal(size)}.")
