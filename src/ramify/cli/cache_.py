"""``ramify cache``: show or clear the compiled code on disk."""

from __future__ import annotations

import click
from rich.filesize import decimal

from ramify.backend.llvm import cache
from ramify.cli.screen import console, json_option, paragraph, print_json


@click.command("cache")
@click.argument("action", type=click.Choice(["show", "clear"]), default="show")
@json_option
def command(action: str, as_json: bool) -> None:
    """Show or clear the compiled code on disk.

    RAMIFY_CACHE_DIR moves the folder ("off": no cache), RAMIFY_CACHE_SIZE_MB bounds it
    (512 by default); when it is full, the oldest are removed first.
    """
    folder = cache.directory()
    files = list(folder.glob("*.ramify")) if folder is not None else []
    size = sum(f.stat().st_size for f in files)
    if action == "clear":
        cache.clear()
    if as_json:
        data = {"folder": str(folder) if folder else None, "kernels": len(files)}
        print_json({**data, "bytes": size, "cleared": action == "clear"})
        return
    if folder is None:
        console().print("The cache is off (RAMIFY_CACHE_DIR).")
        return
    word = "Cleared" if action == "clear" else "Holds"
    paragraph(f"{folder}\n{word} {len(files):,} kernels, {decimal(size)}.")
