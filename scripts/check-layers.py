#!/usr/bin/env python3
# ===- check-layers.py - What a folder may use -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Holds includes and CMake links against the table of layers in docs/architecture.md.

    scripts/check-layers.py [--root FOLDER]

A row of the table names a folder of lib and include/fastk, and the folders that it may
use, all of them rows above it: so there is no cycle. A folder includes public headers
(`fastk/FOLDER/...`) of those alone, private headers of its own alone, and links their
libraries alone. Where a table of the rooms of lib/FOLDER follows, its subfolders include
headers of each other as it says.

Exit codes: 0 all is as the table says; 1 it is not, with a line for each place.
"""

import pathlib
import re
import sys

import checks

TABLE = pathlib.Path("docs/architecture.md")
#: The heading of the table's first column, by which it is found.
HEADING = "| layer | may use |"
#: The same of the rooms of a folder.
ROOMS = re.compile(r"\| room of lib/(\w+) \| may use \|")
SOURCES = (".h", ".cpp", ".def", ".in")


def read_rows(lines, start, what):
    """{name: names that it may use} of the table at a line, and what is wrong with it."""
    rows, problems = {}, []
    for number, line in enumerate(lines[start + 2 :], start + 3):
        if not line.startswith("|"):
            break
        name, uses = (re.findall(r"\w+", cell) for cell in line.split("|")[1:3])
        for each in uses:
            if each not in rows:
                problems.append(
                    f"{TABLE}:{number}: {name[0]} may use {each}, which is no row above; "
                    f"a {what} uses those above it alone"
                )
        rows[name[0]] = set(uses)
    return rows, problems


def read_table(lines):
    """{folder: folders that it may use}, and what is wrong with the table."""
    for start, line in enumerate(lines):
        if line.startswith(HEADING):
            return read_rows(lines, start, "layer")
    return {}, [f"{TABLE}: has no table '{HEADING}'"]


def check_rooms(root, folder, rooms):
    """Includes between the subfolders of lib/FOLDER."""
    own = root / "lib" / folder
    for path in sorted(p for p in own.glob("*/**/*") if p.suffix in SOURCES):
        room = path.relative_to(own).parts[0]
        place = path.relative_to(root)
        if room not in rooms:
            yield f"{place}: the table of rooms of lib/{folder} has no row for {room}"
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            found = re.match(r'\s*#\s*include\s+"(?:\.\./)?(\w+)/[^"]+"', line)
            other = found and found[1]
            if other in rooms and other != room and other not in rooms[room]:
                yield f"{place}:{number}: {room} may not use {other}"


def sources(root, folder):
    for base in (root / "include" / "fastk" / folder, root / "lib" / folder):
        if base.is_dir():
            yield from (p for p in sorted(base.rglob("*")) if p.suffix in SOURCES)


def check_includes(root, folder, allowed):
    own = root / "lib" / folder
    for path in sources(root, folder):
        text = path.read_text(errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            found = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not found:
                continue
            place, name = f"{path.relative_to(root)}:{number}", found[1]
            parts = name.split("/")
            if parts[0] == "fastk" and len(parts) > 2:
                if parts[1] != folder and parts[1] not in allowed:
                    yield f"{place}: {folder} includes {name}, and may not use {parts[1]}"
                continue
            if parts[0] in ("mlir", "llvm", "clang"):
                continue
            beside = (path.parent / name).resolve()
            if beside.is_file() and not beside.is_relative_to(own.resolve()):
                yield f"{place}: {folder} includes {name}, a private header of another folder"
            elif not beside.is_file() and not any(own.rglob(parts[-1])):
                owner = next((root / "lib").rglob(parts[-1]), None)
                if owner:
                    yield (
                        f"{place}: {folder} includes {name}, "
                        f"a private header of {owner.relative_to(root).parts[1]}"
                    )


def commands(text, name):
    """The arguments of each call of a CMake command, with its line."""
    text = re.sub(r"#[^\n]*", "", text)
    for found in re.finditer(rf"\b{name}\s*\(", text):
        depth, end = 1, found.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        yield text.count("\n", 0, found.start()) + 1, text[found.end() : end - 1].split()


def check_links(root, layers):
    owners, links = {}, []
    for path in sorted((root / "lib").rglob("CMakeLists.txt")):
        folder = path.relative_to(root).parts[1]
        text, place = path.read_text(), path.relative_to(root)
        for name in ("add_fastk_library", "add_fastk_plugin"):
            for number, words in commands(text, name):
                owners[words[0]] = folder
                linked = words[words.index("LINK") + 1 :] if "LINK" in words else []
                links.append((f"{place}:{number}", folder, linked))
        for number, words in commands(text, "target_link_libraries"):
            links.append((f"{place}:{number}", folder, words[1:]))
        for number, words in commands(text, "target_include_directories"):
            for word in words[1:]:
                into = re.search(r"\$\{PROJECT_SOURCE_DIR\}/lib/(\w+)", word)
                if into and into[1] != folder:
                    yield (
                        f"{place}:{number}: {folder} takes the private headers of {into[1]}"
                    )
    for place, folder, linked in links:
        for library in linked:
            owner = owners.get(library, folder)
            if owner != folder and owner not in layers.get(folder, ()):
                yield f"{place}: {folder} links {library}, and may not use {owner}"


def check(root):
    lines = (root / TABLE).read_text().splitlines()
    layers, problems = read_table(lines)
    if not layers:
        return problems
    for start, line in enumerate(lines):
        if found := ROOMS.match(line):
            rooms, wrong = read_rows(lines, start, "room")
            problems += [*wrong, *check_rooms(root, found[1], rooms)]
    for base in (root / "lib", root / "include" / "fastk"):
        for path in sorted(base.iterdir()) if base.is_dir() else ():
            if path.is_dir() and path.name not in layers:
                problems.append(f"{path.relative_to(root)}: {TABLE} has no row for it")
    for folder, allowed in layers.items():
        problems += check_includes(root, folder, allowed)
    return list(dict.fromkeys([*problems, *check_links(root, layers)]))


if __name__ == "__main__":
    sys.exit(
        checks.run(
            "check-layers",
            __doc__,
            check,
            f"change the code, or, where the design changes, the table in {TABLE}",
        )
    )
