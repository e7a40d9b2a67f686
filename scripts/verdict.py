#!/usr/bin/env python3
"""Scores the verdict: for dumps whose culprit is known, whether the first finding names it, or one of the first three.

usage: verdict.py TRUTH.tsv DUMPS LAKE [--heaplake BINARY] [--table FILE.md] [--only NAME] [--messages]

TRUTH.tsv has a row for each dump: name, runtime, kind (leak or healthy), culprit (a regular expression that a message
which names the culprit matches), and more columns for people. DUMPS/NAME.* are the dumps, plain or compressed.
A finding counts if it is of severity MEDIUM at least. A healthy dump should have no HIGH and at most one MEDIUM.
"""

import argparse
import csv
import json
import pathlib
import re
import shutil
import subprocess
import sys


def findings(binary, dump, lake):
    """The findings of a dump, in order, as (severity, message)."""
    told = lake.with_suffix(".json")
    run = [binary, "analyze", str(dump), "--out", str(lake), "-q", "--force", "--findings-json", str(told)]
    done = subprocess.run(run, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{dump}: {done.stderr.strip()}")
    summary = json.loads(told.read_text())
    # What a message adds as evidence names no culprit.
    evidence = re.compile(r"\. (?:Also seen as|Of [0-9]|One of them|The largest set).*?(?=\. It belongs|$)")
    brief = lambda message: evidence.sub("", message)
    return [(finding["severity"].upper(), brief(finding["message"])) for finding in summary[0]["findings"]]


def score(row, found):
    """(first, among three) for a leak; (quiet, ) for a healthy program."""
    heavy = [(severity, message) for severity, message in found if severity in ("HIGH", "MEDIUM")]
    if row["kind"] == "healthy":
        severities = [severity for severity, _ in heavy]
        return severities.count("HIGH") == 0, severities.count("MEDIUM") <= 1
    names = [bool(re.search(row["culprit"], message)) for _, message in heavy]
    return names[:1] == [True], any(names[:3])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ["truth", "dumps", "lake"]:
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("--heaplake", default="target/release/heaplake")
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--only")
    parser.add_argument("--messages", action="store_true", help="print the first three messages of each")
    args = parser.parse_args()
    shutil.rmtree(args.lake, ignore_errors=True)
    lines, sums = [], {"leak": [0, 0, 0], "healthy": [0, 0, 0]}
    with args.truth.open() as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    for row in rows:
        if args.only and not re.search(args.only, row["name"]):
            continue
        dump = next(iter(sorted(args.dumps.rglob(row["name"] + ".*"))), None)
        if dump is None:
            print(f"{row['name']}: no dump in {args.dumps}", file=sys.stderr)
            continue
        found = findings(args.heaplake, dump, args.lake)
        one, other = score(row, found)
        sums[row["kind"]] = [a + b for a, b in zip(sums[row["kind"]], (1, one, other))]
        if row["kind"] == "healthy":
            word = "quiet" if one and other else "HIGH" if not one else "several MEDIUM"
        else:
            word = "first" if one else "among three" if other else "missed"
        first = f"{found[0][0]} {found[0][1]}" if found else "no finding"
        lines.append((row["name"], row["runtime"], row["kind"], word, first))
        print(f"{word:12} {row['kind']:8} {row['name']}")
        if args.messages or args.only:
            for severity, message in found[: 12 if args.only else 3]:
                print(f"      {severity:7} {message}")
    leaks, first, three = sums["leak"]
    healthy, calm, quiet = sums["healthy"]
    total = (
        f"{first} of {leaks} culprits first, {three} among three; "
        f"{calm} of {healthy} healthy programs without HIGH, {quiet} with at most one MEDIUM"
    )
    print(total)
    if args.table:
        table = ["| dump | runtime | kind | verdict | first finding |", "|---|---|---|---|---|"]
        cell = lambda text: text.replace("|", "\\|").replace("\n", " ")[:160]
        table += ["| " + " | ".join(map(cell, line)) + " |" for line in lines]
        args.table.write_text(f"{total}\n\n" + "\n".join(table) + "\n")


if __name__ == "__main__":
    main()
