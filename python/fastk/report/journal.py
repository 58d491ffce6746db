# ===- journal.py - Reads the journal of a search -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Reads a search's journal (docs/formats/journal.md) as strictly as the search does.

Every line is compared with its checksum, every program and text with its digest.
Only the last line may be cut: a crash, or a search that runs at this moment.
"""

import dataclasses
import hashlib
import json
import pathlib
import re
import zlib

from .errors import ReportError
from .fields import Fields

FORMAT = 1
FILE = "journal.jsonl"

# Far above what any search writes; a bound for a stray file.
_FILE_LIMIT = 1 << 30
_LINE = re.compile(rb'\{"check":"([0-9a-f]{8})","event":(.*)\}', re.DOTALL)
_EXTENSIONS = {"c": ".c", "schedule": ".mlir", "cuda": ".cu", "gpu": ".mlir"}
_TYPES = {"exchange", "ideas", "variants", "evaluation"}
#: Replies that the search went on from; what is asked again had another one.
USABLE = {"complete", "truncated"}
#: The event tells once more of an exchange, of which nothing could be made.
UNREADABLE = "unreadable"
# With what a search begins. Of the bank's winners the page shows what became of them.
_BEGINNING = {("device", "device"), ("ideas", "seeds"), ("variants", "seeds")}
_RESTORE = "restore it, or report another journal"


@dataclasses.dataclass(frozen=True)
class Event:
    """One line: its type, its name, and the seconds of searching behind it."""

    type: str
    name: str
    elapsed: float
    fields: Fields


class Journal:
    """The journal of one search, in memory.

    Attributes:
      folder: where it lies.
      binding: what the search was bound to, {name: value} in the file's order.
      about: what the search told of its workload, Fields; empty in old journals.
      events: all of them but the header, in order.
      notes: what a reader of the report should know about the file.
    """

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.binding, self.events, self.notes = {}, [], []
        self.about = None
        self._files, self._names = {}, {}
        self._read()

    @property
    def path(self):
        return self.folder / FILE

    def program(self, language, digest, fields):
        """A program's bytes. `fields` is the object that names it."""
        if language not in _EXTENSIONS:
            fields.fail(f"its language '{language}' is unknown")
        return self._file(f"programs/{digest}{_EXTENSIONS[language]}", digest, fields)

    def text(self, digest, fields):
        """A prompt's or reply's text in bytes; an empty one has no digest."""
        return self._file(f"texts/{digest}.md", digest, fields) if digest else b""

    def _file(self, name, digest, fields):
        if name not in self._files:
            path = self.folder / name
            try:
                content = path.read_bytes()
            except OSError as error:
                raise ReportError(
                    f"{fields.what} names a file that cannot be read: {path}: "
                    f"{error.strerror or error}",
                    _RESTORE,
                    fields.where,
                ) from error
            if hashlib.sha256(content).hexdigest() != digest:
                raise ReportError(
                    "was changed: its content no longer has the digest in its name",
                    _RESTORE,
                    (path, None),
                )
            self._files[name] = content
        return self._files[name]

    def _read(self):
        content = _content(self.path)
        *lines, rest = content.split(b"\n")
        for number, line in enumerate(lines, 1):
            body = _body(line)
            if body is None:
                if number < len(lines) or rest:
                    raise ReportError(
                        "the line was changed or damaged (its checksum does not "
                        "match)",
                        f"restore the file, or keep only the {number - 1} lines "
                        "before it",
                        (self.path, number),
                    )
                self._note_cut(number)
                break
            self._take(body, number)
        if rest:
            self._note_cut(len(lines) + 1)
        if self.about is None:
            raise ReportError(
                "holds no event: the search has not begun",
                "run the search, then report it",
                (self.path, None),
            )
        aside = sorted(self.folder.glob("journal.*.jsonl"))
        if aside:
            self.notes.append(
                f"{len(aside)} earlier journal{'s' * (len(aside) > 1)} of the folder "
                "made by another fastk: not shown"
            )

    def _note_cut(self, number):
        self.notes.append(
            f"{self.path}:{number}: the last line is not whole (a crash, or the "
            "search runs at this moment) and is left out"
        )

    def _take(self, body, number):
        where = (self.path, number)
        try:
            raw = json.loads(body.decode(), parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise ReportError(f"not JSON: {error}", _RESTORE, where) from error
        fields = Fields(raw, where, "the event")
        kind = fields.text("type")
        fields.what = f"the event '{kind}'"
        if number == 1:
            self._take_header(kind, fields)
            return
        if (kind, str(fields.raw.get("name"))) in _BEGINNING:
            return
        # How many ideas each model was asked for, and what is evaluated again: the
        # ideas and the evaluations show it.
        if kind in ("counts", "unjudged"):
            return
        if kind not in _TYPES:
            self.notes.append(
                f"{self.path}:{number}: left out an event of the unknown type '{kind}'"
            )
            return
        name = fields.text("name")
        fields.what = f"the event '{kind}' '{name}'"
        if (kind, name) in self._names and not _replaces(
            fields, self._names[kind, name]
        ):
            fields.fail("is recorded a second time")
        if kind == "evaluation" and (kind, name) in self._names:
            # What took its place is told at its own time.
            self.events = [e for e in self.events if (e.type, e.name) != (kind, name)]
        self._names[kind, name] = fields
        self.events.append(Event(kind, name, fields.number("elapsed"), fields))

    def _take_header(self, kind, fields):
        if kind != "header":
            raise ReportError(
                "a journal begins with its header", _RESTORE, fields.where
            )
        if fields.integer("format") != FORMAT:
            raise ReportError(
                f"has format {fields.integer('format')}, this report reads format "
                f"{FORMAT}",
                "use the report of the fastk that searched",
                fields.where,
            )
        for pair in fields.list("binding"):
            if (
                not isinstance(pair, list)
                or len(pair) != 2
                or not all(isinstance(each, str) for each in pair)
            ):
                fields.fail("its field 'binding' is no list of pairs of texts")
            self.binding[pair[0]] = pair[1]
        for name in ("key", "target", "precision"):
            if name not in self.binding:
                fields.fail(f"its field 'binding' has no '{name}'")
        self.about = fields.object("about", None) or fields.inner({}, "'about'")


def _replaces(fields, earlier):
    """Whether an event may follow another of its type and name: after a failure."""
    if verdict := earlier.object("verdict", None):
        return verdict.text("status", "") == "error"
    now, before = fields.object("reply", None), earlier.object("reply", None)
    if now and before:
        return (
            before.text("status") not in USABLE or now.text("status") == UNREADABLE
        )
    return any(
        len(fields.list(name, [])) > len(earlier.list(name, []))
        for name in ("ideas", "variants")
    )


def _refuse(constant):
    raise ValueError(f"{constant} is no number of JSON")


def _content(path):
    try:
        if path.stat().st_size > _FILE_LIMIT:
            raise ReportError(
                f"is larger than any journal ({_FILE_LIMIT >> 20} MiB)",
                "name a search's journal",
                (path, None),
            )
        return path.read_bytes()
    except OSError as error:
        raise ReportError(
            f"cannot be read: {error.strerror or error}",
            "name a journal that you may read",
            (path, None),
        ) from error


def _body(line):
    """The event's bytes if the line is whole, else None."""
    match = _LINE.fullmatch(line)
    if not match or f"{zlib.crc32(match[2]):08x}" != match[1].decode():
        return None
    return match[2]


def find_journals(path):
    """The folders with a journal at `path`: itself, or those in it, by name.

    `path` may also be a journal.jsonl. Raises ReportError where there is none.
    """
    path = pathlib.Path(path)
    if path.is_file():
        if path.name == FILE:
            return [path.parent]
        raise ReportError(_what_file(path), _remedy_file(path), (path, None))
    if not path.exists():
        raise ReportError(
            "does not exist", "name the folder of fastk-opt --journal", (path, None)
        )
    if (path / FILE).is_file():
        return [path]
    try:
        found = sorted(each.parent for each in path.glob(f"*/{FILE}"))
    except OSError as error:
        raise ReportError(
            f"cannot be read: {error.strerror or error}",
            "name a journal that you may read",
            (path, None),
        ) from error
    if not found:
        raise ReportError(
            f"holds no journal: there is no {FILE} in it, nor in a folder in it",
            "name the folder of fastk-opt --journal; without that option it is "
            "BANK.journal",
            (path, None),
        )
    return found


def _is_cassette(path):
    try:
        with path.open("rb") as stream:
            first = json.loads(stream.readline(1 << 16))
        return isinstance(first, dict) and first.get("type") == "header"
    except (OSError, ValueError):
        return False


def _what_file(path):
    if _is_cassette(path):
        return "is a cassette: it holds answers, and not what the search made of them"
    return "is no journal"


def _remedy_file(path):
    if _is_cassette(path):
        return (
            f"replay it: fastk-opt MODEL --search --proposer=replay:{path} "
            f"--evaluator=replay:{path} --journal=DIR, then report DIR"
        )
    return f"name a search's folder, or the {FILE} in it"
