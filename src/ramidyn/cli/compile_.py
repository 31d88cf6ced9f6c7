"""``ramidyn compile`` and ``cache``: compile into the cache; show or clear it."""

from __future__ import annotations

from typing import Any

import click
from rich.filesize import decimal

from ramidyn.backend.llvm import cache
from ramidyn.cli.arguments import (
    RobotFile,
    functions_option,
    passive_option,
    quantity_named,
    robot_argument,
)
from ramidyn.cli.screen import (
    console,
    json_option,
    paragraph,
    print_json,
    show_warnings,
    steps,
    table,
)
from ramidyn.compiler import compile
from ramidyn.robot import Robot
from ramidyn.tracing.quantity import Quantity
from ramidyn.view.blocks import seconds


@click.command("compile")
@robot_argument
@passive_option
@functions_option
@click.option("--fused", is_flag=True, help="Compile all of them into one kernel.")
@click.option("--dtype", type=click.Choice(["float64", "float32"]), default="float64")
@json_option
def command(
    robot: str,
    names: tuple[str, ...],
    fused: bool,
    dtype: str,
    as_json: bool,
    **options: str,
) -> None:
    """Compile quantities into the cache, with times and counts.

    Example: ramidyn compile panda.urdf -f forward_dynamics -f jacobian:panda_hand
    """
    wanted = [quantity_named(n) for n in names]
    loaded = RobotFile(robot, **options).load()
    groups = [wanted] if fused else [[q] for q in wanted]
    rows = [
        _compile_group(group, loaded, dtype)
        for group in steps(groups, lambda g: f"compiling {g[0].name}")
    ]
    if as_json:
        print_json({"robot": loaded.name, "dtype": dtype, "kernels": rows})
        return
    show_warnings(loaded.warnings)
    columns = ("quantity", "mul", "add", "div", "sincos", "all", "time", "from cache")
    title = f"{loaded.name}: nq {loaded.nq}, nv {loaded.nv}, {dtype}"
    shown = [
        (
            r["name"],
            *(f"{r[k]:,}" for k in ("mul", "add", "div", "sincos", "total")),
            seconds(r["seconds"]),
            "yes" if r["cached"] else "no",
        )
        for r in rows
    ]
    console().print(table(title, columns, shown))


def _compile_group(group: list[Quantity], robot: Robot, dtype: str) -> dict[str, Any]:
    f = compile(group, robot, dtype=dtype).prepare()
    ops = f.ops
    return {
        "name": f.name.removesuffix(f" of {robot.name}").replace("+", " + "),
        "mul": ops.mul,
        "add": ops.add,
        "div": ops.div,
        "sincos": ops.sincos,
        "total": ops.total,
        "seconds": f.compile_seconds,
        "cached": f.cached,
    }


@click.command("cache")
@click.argument("action", type=click.Choice(["show", "clear"]), default="show")
@json_option
def cache_command(action: str, as_json: bool) -> None:
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
