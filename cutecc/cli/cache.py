"""`cutecc cache`: what the cache keeps."""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import click

from cutecc.cache import cache_file, direct, lookup, own_runs
from cutecc.cache.entries import Stored, decode
from cutecc.cache.folder import environments_folder
from cutecc.cache.made_with import why_not_here
from cutecc.cache.store import Entry, Store
from cutecc.cli.main import EXIT_FAILED
from cutecc.config import Settings, size_text
from cutecc.errors import RecordError, UsageError
from cutecc.support.harmless import one_line

_EPILOG = """\b
Examples:
  cutecc cache info
  cutecc cache list gemm
  cutecc cache clear --older-than 30d
  cutecc cache export kernels.cache 'gemm_sm90a_*'
  cutecc cache import kernels.cache
"""
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_KEY_SHOWN = 12
_EMPTY = "the cache is empty"


@click.group(name="cache", epilog=_EPILOG)
def cache() -> None:
    """Show, clear, check or copy the cache. CUTECC_CACHE_DIR names its folder, CUTECC_CACHE_SIZE limits it."""


@cache.command()
def info() -> None:
    """Where the cache is and how full."""
    settings = Settings.from_environment()
    store = Store.of(settings)
    entries = store.entries()
    records = sum(entry.is_record for entry in entries)
    click.echo(f"folder         {store.folder}")
    click.echo(f"used           {'yes' if settings.cache else 'no: CUTECC_CACHE is off'}")
    click.echo(f"compilations   {records}")
    click.echo(f"kernel files   {sum(entry.is_direct for entry in entries)}")
    click.echo(f"size           {size_text(sum(entry.bytes for entry in entries))} of {size_text(store.limit)}")
    count, size = store.unfinished()
    if count:
        click.echo(f"unfinished     {count}, {size_text(size)}")
    if environments := _environments(settings):
        click.echo(
            f"environments   {len(environments)}, {size_text(sum(map(_size, environments)))}, of cutecc versions"
        )


@cache.command(name="list")
@click.argument("kernel", required=False)
def list_(kernel: str | None) -> None:
    """List the compilations, the last used first: key, target, size, when used, kernel, and who first asked for it.

    KERNEL is a name, in which * and ? stand for other characters. A terminal shows as much of a line as fits.
    """
    store = Store.of(Settings.from_environment())
    found = _records(store, kernel)
    if not found:
        click.echo(f"the cache has no kernel like {kernel}" if kernel and store.entries() else _EMPTY, err=True)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for entry, stored in found:
        record = stored.record
        used = datetime.fromtimestamp(entry.used).strftime("%Y-%m-%d %H:%M")
        start = f"{entry.key[:_KEY_SHOWN]}  {record.target:<8}  {size_text(entry.bytes):>9}  {used}  {record.name}"
        line = one_line(f"{start}  {stored.about}".rstrip())
        click.echo(line if width is None or len(line) <= width else f"{line[: width - 1]}…")


@cache.command()
@click.argument("kernel", required=False)
@click.option("--older-than", metavar="AGE", help="Only what was not used for so long: 90s, 20m, 12h, 30d, 4w.")
@click.option("--environments", is_flag=True, help="Remove the environments of cutecc versions instead.")
def clear(kernel: str | None, older_than: str | None, environments: bool) -> None:
    """Remove everything, or the compilations of KERNEL (* and ? stand for other characters)."""
    settings = Settings.from_environment()
    if environments:
        if kernel or older_than:
            raise UsageError("--environments removes all of them", hints=["one alone is a folder that can be removed"])
        _clear_environments(settings)
        return
    store = Store.of(settings)
    before = time.time() - _seconds(older_than) if older_than else float("inf")
    entries = [entry for entry, _ in _records(store, kernel)] + _runs(store, kernel) if kernel else store.entries()
    chosen = [entry for entry in entries if entry.used <= before]
    chosen += _leading_to(store, chosen)
    for entry in chosen:
        store.remove(entry.name)
    store.remove_unfinished()
    records = sum(entry.is_record for entry in chosen)
    click.echo(f"removed {records} compilation{'' if records == 1 else 's'}, {size_text(sum(e.bytes for e in chosen))}")


def _environments(settings: Settings) -> list[Path]:
    """The folders of environments that are there."""
    folder = environments_folder(settings)
    return [each for each in folder.iterdir() if each.is_dir()] if folder.is_dir() else []


def _size(folder: Path) -> int:
    """Bytes of the files in a folder, each counted once."""
    return sum(os.lstat(os.path.join(at, name)).st_size for at, _, names in os.walk(folder) for name in names)


def _clear_environments(settings: Settings) -> None:
    found = _environments(settings)
    size = sum(map(_size, found))
    if found:
        shutil.rmtree(environments_folder(settings))
    click.echo(f"removed {len(found)} environment{'' if len(found) == 1 else 's'}, {size_text(size)}")


@cache.command()
@click.pass_context
def verify(context: click.Context) -> None:
    """Read everything again, and remove what is damaged; the exit status is 1 when something was."""
    store = Store.of(Settings.from_environment())
    damaged = store.verify(lookup.is_of_another)
    for name in damaged:
        click.echo(f"removed {name}: it was damaged")
    left = len(store.entries())
    click.echo(f"{left} file{'' if left == 1 else 's'} in order" if left or damaged else _EMPTY)
    if damaged:
        context.exit(EXIT_FAILED)


@cache.command(name="export")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("kernels", metavar="[KERNEL]...", nargs=-1)
@click.option("--target", help="Only kernels for this target.")
@click.option("--all", "everything", is_flag=True, help="Also what another cutecc, wheel or Python made.")
def export(file: Path, kernels: tuple[str, ...], target: str | None, everything: bool) -> None:
    """Write the compilations of KERNELs (* and ? stand for other characters), or all, to FILE, for other machines."""
    store = Store.of(Settings.from_environment())
    names = {entry.key: stored for name in kernels or (None,) for entry, stored in _records(store, name)}
    chosen = [key for key, stored in names.items() if target in (None, stored.record.target)]
    found = [kernel for key in chosen if (kernel := cache_file.portable(store, key))]
    written = [each for each in found if everything or why_not_here(each.stored, described=each.described) is None]
    if not written:
        hints = [f"--all writes {_count(found)} of other versions too"] if found else ["cutecc cache list shows it"]
        raise UsageError("the cache has nothing like that to export", hints=hints)
    size = cache_file.write(file, written)
    click.echo(f"{one_line(str(file))}: {_count(written)}, {size_text(size)}")
    if left_out := len(found) - len(written):
        click.echo(f"left out {left_out} of other versions: --all", err=True)


@cache.command(name="import")
@click.argument("file", type=click.Path(path_type=Path))
@click.pass_context
def import_(context: click.Context, file: Path) -> None:
    """Keep the compilations in FILE, which `export` wrote; the exit status is 1 when one was refused.

    They are code: import what you would run as a program.
    """
    kernels, refused = cache_file.read(file)
    kept = cache_file.keep(Store.of(Settings.from_environment()), kernels)
    click.echo(f"{_count(kernels)}: {kept} new, {len(kernels) - kept} there already")
    elsewhere = Counter(why_not_here(each.stored, described=each.described) for each in kernels)
    del elsewhere[None]
    for why, count in elsewhere.items():
        click.echo(f"{count} cannot answer here: {one_line(why or '')}", err=True)
    for each in refused:
        click.echo(f"refused {one_line(each.name)}: {one_line(each.why)}", err=True)
    if refused:
        context.exit(EXIT_FAILED)


def _count(kernels: Sequence[object]) -> str:
    return f"{len(kernels)} kernel{'' if len(kernels) == 1 else 's'}"


def _leading_to(store: Store, chosen: list[Entry]) -> list[Entry]:
    """What remembers kernel files by a record among the `chosen` files, and is none of them."""
    keys = {entry.key for entry in chosen if entry.is_record}
    found: list[Entry] = []
    for entry in store.entries():
        data = store.peek(entry.name) if entry.is_direct and entry not in chosen else None
        led = direct.decode(data) if data else None
        if led and led.key in keys:
            found.append(entry)
    return found


def _runs(store: Store, kernel: str) -> list[Entry]:
    """What remembers the commands that compiled kernels with a name like `kernel`."""
    found: list[Entry] = []
    for entry in store.entries():
        content = store.peek(entry.name) if entry.is_run else None
        if content is not None and fnmatch.fnmatchcase(own_runs.kernel_of(content), kernel):
            found.append(entry)
    return found


def _records(store: Store, kernel: str | None) -> list[tuple[Entry, Stored]]:
    """The compilations whose kernel has a name like `kernel`; damaged entries are left to `verify`."""
    found: list[tuple[Entry, Stored]] = []
    for entry in store.entries():
        data = store.peek(entry.name) if entry.is_record else None
        if data is None:
            continue
        try:
            stored = decode(data)
        except RecordError:
            continue
        if kernel is None or fnmatch.fnmatchcase(stored.record.name, kernel):
            found.append((entry, stored))
    return found


def _seconds(age: str) -> float:
    match = re.fullmatch(r"(\d+)([smhdw])", age)
    if match is None:
        raise UsageError(f"--older-than: '{age}' is not an age", hints=["write 90s, 20m, 12h, 30d or 4w"])
    return int(match[1]) * _UNITS[match[2]]
