#!/usr/bin/env python3
"""Puts what tests/gpu/run.sh brought home into bench/gpu/RESULTS.md: a section a device and day, a page a part.

usage: bench/gpu/record.py [--results FILE] PART.tar.gz... | DIR

A page that is there already is replaced by a later one of the same device, day and part. Rehearsals measure nothing and
are refused. Exit codes: 0 recorded; 2 nothing to record, an archive is damaged, or it is of a rehearsal.
"""
import argparse
import json
import pathlib
import re
import sys
import tarfile

RESULTS = pathlib.Path(__file__).resolve().parent / "RESULTS.md"
ORDER = ["build", "smoke", "ops", "kernels", "blocks", "largest", "runs", "sanitizers"]



def read(path):
    """The record of an archive, with its page."""
    try:
        with tarfile.open(path) as tar:
            files = {pathlib.PurePath(entry.name).name: entry for entry in tar.getmembers()}
            record = json.load(tar.extractfile(files["record.json"]))
            record["page"] = tar.extractfile(files["page.txt"]).read().decode()
    except (OSError, EOFError, KeyError, ValueError, tarfile.TarError) as error:
        print(f"record.py: {path} is no archive of tests/gpu/run.sh: {error}", file=sys.stderr)
        sys.exit(2)
    if record["emulated"]:
        print(f"record.py: {path} is of a rehearsal: nothing in it was measured on a GPU", file=sys.stderr)
        sys.exit(2)
    return record


def heading(record):
    return f"## {record['device'] or 'No GPU'}, {record['date'][:10]}"


def sections(text):
    """(what comes before the sections, {heading: {part: page}}) of the file."""
    before, *parts = re.split(r"^(?=## )", text, flags=re.M)
    found = {}
    for part in parts:
        title, *pages = re.split(r"^### ", part, flags=re.M)
        found[title.strip()] = {page.split("\n", 1)[0].strip(): page.split("\n", 1)[1].strip("\n") for page in pages}
    return before, found


def with_records(text, records):
    before, found = sections(text)
    for record in sorted(records, key=lambda record: record["date"]):
        found.setdefault(heading(record), {})[record["part"]] = f"```\n{record['page'].strip()}\n```"
    out = before.rstrip("\n") + "\n"
    for title, pages in found.items():
        out += f"\n{title}\n"
        for part in sorted(pages, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER)):
            out += f"\n### {part}\n\n{pages[part].strip()}\n"
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS)
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    archives = [archive for path in options.paths for archive in (sorted(path.glob("*.tar.gz")) if path.is_dir() else [path])]
    if not archives:
        parser.exit(2, f"record.py: no archives in {', '.join(map(str, options.paths))}\n")
    records = [read(archive) for archive in archives]
    text = options.results.read_text() if options.results.exists() else "# On a GPU\n"
    options.results.write_text(with_records(text, records))
    print(f"{len(records)} parts in {options.results}: {', '.join(record['part'] for record in records)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
