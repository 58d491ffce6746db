# ===- __main__.py - python -m fastk.report -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The command: python -m fastk.report JOURNAL [-o report.html]."""

import argparse
import sys

from .. import commandline
from ..importer import ImporterError, files
from . import dataset, page, shown, text
from .errors import ReportError
from .search import read_searches
from .searchreport import read_report

_DESCRIPTION = """\
Reports searches from their journals: how each came from ideas to its winner, what
failed, and what it cost. The text goes to stdout; -o writes a page to explore.
"""

_EPILOG = """\
JOURNAL is the folder of fastk-opt --journal (by default BANK.journal, beside the
bank): of one workload or of a whole model. The search may still run, or wait for
answers; it is not disturbed.

    fastk-opt model.mlir --search --journal=journal -o out.mlir
    python -m fastk.report journal -o report.html

The page is one file that loads nothing: open it, send it, keep it. It shows the
trajectory, the ideas with all that was made of them, and of each variant program,
changes, plan, verdict, prompt and reply.

A journal does not tell why its search ended; the file of fastk-opt --report does:

    fastk-opt model.mlir --search --journal=journal --report=found.json -o out.mlir
    python -m fastk.report journal --report=found.json -o report.html

Every judged variant as a line of JSON, to train or to analyse:

    python -m fastk.report journal --export-dataset=variants.jsonl

Columns: "% of baseline" is the default lowering's time over the variant's, timed
side by side; "% of floor" the floor over the variant's time; "valid" are those that
computed the right thing, of all that were judged.

Exit codes: 0 done; 1 the journal or the options are wrong, with a diagnostic;
130 interrupted. Files are written whole or not at all.
"""


def parser():
    result = argparse.ArgumentParser(
        prog="python -m fastk.report",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument(
        "journal", metavar="JOURNAL", help="a search's journal, or a folder of several"
    )
    result.add_argument(
        "-o", "--output", metavar="FILE.html", help="the page to write (default: none)"
    )
    result.add_argument(
        "--export-dataset",
        metavar="FILE.jsonl",
        help="write every judged variant, one a line (docs/formats/dataset.md)",
    )
    result.add_argument(
        "--report",
        metavar="FILE.json",
        help="the file of fastk-opt --report of the same search, for why it ended",
    )
    result.add_argument(
        "--quiet", action="store_true", help="no text on stdout, only files"
    )
    commandline.use_exit_code_1(result)
    return result


def _write(options, searches):
    contents = {}
    if options.output:
        contents[options.output] = page.render(searches)
    if options.export_dataset:
        contents[options.export_dataset] = "".join(dataset.lines(searches))
    files.write_all(contents)
    for path in contents:
        print(f"fastk.report: wrote {path}", file=sys.stderr)


def main(argv=None):
    commandline.open_streams()
    options = parser().parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that has not all characters is no reason to say nothing.
        if stream is not None:
            stream.reconfigure(errors="backslashreplace")
    if "-" in (options.output, options.export_dataset):
        commandline.fail(parser(), "stdout has the text: name a file instead of -")
    if options.output and options.output == options.export_dataset:
        commandline.fail(parser(), "-o and --export-dataset name the same file")
    try:
        reports = read_report(options.report) if options.report else None
        searches = read_searches(options.journal, reports)
        for search in searches:
            for note in search.notes:
                print(f"note: {shown.one_line(note)}", file=sys.stderr)
        if reports is not None and not any(each.key in reports for each in searches):
            raise ReportError(
                "has no workload of this journal",
                "name the --report of the same search",
                (options.report, None),
            )
        _write(options, searches)
        if not options.quiet:
            return commandline.write_stdout(
                "\n".join(map(text.render, searches)),
                "free some space, or leave the text out with --quiet",
            )
    except (ReportError, ImporterError) as error:
        print(shown.visible(str(error)), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("fastk.report: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
