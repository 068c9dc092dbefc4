#!/usr/bin/env python3
"""Decodes the images of independent suites, compares them with decoders of other projects, and prints one table.

The first image of each file counts, upright, with its stored colors and 8 to 32 bits. The columns:
  equal      no sample differs from one judge by more than half a step of the coarser samples
  within 1   by at most one step of 8 bits, or the error that the specification of the format allows
  differs    from every judge that reads the file
  unjudged   read here, by no judge; or damaged on purpose, and each decoder stops at another place
  refused    here, and by every judge
  lost       refused here only; if damaged on purpose, only if two judges agree on the pixels
  exception  differs or lost for a reason that suites.py states
  crash      a signal, no end within the time, or an error without a code

Exit status 0 if each file is equal to a judge within one step of 8 bits, or every judge refuses it, or its exception is
in suites.py. Exit status 1 otherwise, and 2 for wrong arguments. Judges that are not installed are named and left out.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import re
import select
import shlex
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))

try:
    import numpy  # noqa: F401
except ImportError:
    sys.exit(f"judge: {sys.executable} lacks numpy\n  try: python3 -m venv .build/judges && .build/judges/bin/pip install "
             "numpy pillow pillow-jxl-plugin tifffile imagecodecs psd-tools OpenEXR opencv-python-headless, "
             "then make conformance PYTHON=.build/judges/bin/python")

import decoders  # noqa: E402
import peers  # noqa: E402
from suites import EXCEPTIONS, FORMATS, SUITES  # noqa: E402
import suites as table  # noqa: E402

COLUMNS = ("equal", "within", "differs", "unjudged", "refused", "lost", "exception", "crash")
FAILURES = ("differs", "lost", "crash")
# A file may pack many pixels in few bytes: the suites contain such files on purpose.
LIMITS = "default,ratio=1000000"


class Peers:
    """The process that runs the judges. A judge that crashes or hangs ends it, and the next question starts it again."""

    def __init__(self):
        self.process = None

    def ask(self, **question):
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen([sys.executable, os.path.join(HERE, "peers.py")], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
            ready, _, _ = select.select([self.process.stdout], [], [], decoders.LONGEST + 10)
            line = self.process.stdout.readline() if ready else ""
        except BrokenPipeError:
            line = ""
        if line:
            return json.loads(line)
        self.close()
        return {"read": False, "why": "the judge crashed or hung"}

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None


def decode(tool, path, target, options, timeout):
    """Decodes the first image into a plain TIFF. Returns (code, message): ("", "") if the file was read."""
    command = [tool, "convert", path, "-f", "tiff", "-o", target, "--json", "--first-frame", "--overwrite",
               "--dynamic-range", "keep", "--isolation", "off", "--limits", LIMITS, "-O", "tiff.compression=none", *options]
    status, output = call(command, timeout)
    if status == "hang" or status < 0 or status >= 128:
        return "crash", "no end within the time" if status == "hang" else f"status {status}"
    if status == 0:
        return "", ""
    try:
        problem = json.loads(output.splitlines()[-1])["error"]
        return problem["code"], problem.get("message", "")
    except (ValueError, KeyError, IndexError):
        return "crash", f"an error without a code, status {status}"


def call(command, timeout):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              timeout=timeout)
        return done.returncode, done.stdout.decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        return "hang", ""


def is_linear(tool, path, timeout):
    """Whether `coderhost info` reports linear light, which the plain TIFF does not state."""
    status, output = call([tool, "info", "--json", "--isolation", "off", "--limits", LIMITS, path], timeout)
    try:
        return status == 0 and re.match(r"cicp: \d+/8/", json.loads(output).get("color_profile") or "") is not None
    except ValueError:
        return False


def files(root, suite, name):
    """The different files of a format, in order."""
    form, seen = FORMATS[name], set()
    names = re.compile(rf"(?:{suite.formats[name]}).*\.(?:{form.names})", re.I)
    extra = re.compile(suite.is_damaged) if name == "exr" else None
    for folder, folders, found in os.walk(os.path.join(root, suite.name)):
        folders[:] = sorted(one for one in folders if one != ".git")
        for one in sorted(found):
            path = os.path.join(folder, one)
            inside = os.path.relpath(path, os.path.join(root, suite.name))
            if not names.fullmatch(inside) and not (extra and extra.match(inside) and "README" not in one):
                continue
            if not os.path.getsize(path) or form.accepts and not getattr(table, form.accepts)(path):
                continue
            with open(path, "rb") as file:
                data = file.read()
            digest = hashlib.sha256(data).digest()
            if digest not in seen and not data.startswith(b"version https://git-lfs"):
                seen.add(digest)
                yield inside, path


def judge(task, tool, absent, timeout, ask):
    """The verdict on one file."""
    row, suite, name, inside, path = task
    form = FORMATS[name]
    with tempfile.TemporaryDirectory(prefix="judge-") as folder:
        target = os.path.join(folder, "ours.tif")
        options = [*form.options, *suite.options]
        code, message = decode(tool, path, target, options, timeout)
        linear = code == "" and "--to-srgb" not in options and is_linear(tool, path, timeout)
        answers = {}
        for one in (*suite.judges, *form.judges):
            if one not in absent and decoders.REFERENCES.get(one, name) == name:
                answers[one] = ask(judge=one, file=path, format=name, ours=target if code == "" else None, linear=linear)
    read = {one for one, answer in answers.items() if answer["read"]}
    verdicts = {answer.get("verdict") for answer in answers.values() if answer["read"]}
    is_damaged = re.match(suite.is_damaged, inside) is not None
    agree = any(answer.get("agrees") for answer in answers.values())
    if code == "crash":
        verdict = "crash"
    elif code == "":
        verdict = next((one for one in ("equal", "within") if one in verdicts), "differs" if read else "unjudged")
        # On damaged data each decoder stops where it likes: only two that agree show an error of ours.
        if verdict == "differs" and is_damaged and not agree:
            verdict = "unjudged"
    else:
        verdict = "lost" if read and (agree or not is_damaged) else "refused"
    result = {"row": row, "file": inside, "verdict": verdict, "code": code, "message": message,
              "judges": {one: answer.get("text") or ("read" if answer["read"] else "other colors" if answer["read"] is None
                                                     else answer["why"]) for one, answer in answers.items()},
              "read": sorted(read), "agree": agree}
    if verdict in FAILURES and verdict != "crash":
        for rows, pattern, reason, *needed in EXCEPTIONS:
            is_known = fnmatch.fnmatchcase(row, rows) and fnmatch.fnmatchcase(inside, pattern)
            if is_known and (not needed or fnmatch.fnmatchcase(message, needed[0])):
                result.update(verdict="exception", reason=reason)
                break
    return result


def show(results, present):
    """The one table."""
    rows = collections.OrderedDict()
    for one in results:
        rows.setdefault(one["row"], []).append(one)
    wide = max([len(row) for row in rows] + [5]) + 1
    titles = "".join(f"{'within 1' if one == 'within' else one:>10}" for one in COLUMNS)
    print(f"{'suite':{wide}}{'files':>6}{'read':>6}{titles}  peers that read")
    totals = collections.Counter()
    for row, found in rows.items():
        counts = collections.Counter(one["verdict"] for one in found)
        counts["files"], counts["read"] = len(found), sum(one["code"] == "" for one in found)
        totals += counts
        by_peer = collections.Counter(name for one in found for name in one["read"])
        asked = [name for name in present if any(name in one["judges"] for one in found)]
        print(line(row, counts, wide) + "  " + ", ".join(f"{name} {by_peer[name]}" for name in asked))
    print(line("all", totals, wide))


def line(row, counts, wide):
    return f"{row:{wide}}{counts['files']:>6}{counts['read']:>6}" + "".join(f"{counts[one]:>10}" for one in COLUMNS)


def clones():
    """The commands that bring the suites."""
    yield "mkdir -p suites && cd suites"
    for suite in SUITES:
        yield (f"git clone https://github.com/{suite.repository} {suite.name} && git -C {suite.name} checkout -q {suite.revision}"
               + (f" && (cd {suite.name} && {suite.prepare})" if suite.prepare else ""))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", help="the folder that contains the suites")
    parser.add_argument("--tool", default=os.path.join(HERE, "../../.build/release/coderhost"), help="the command to test")
    parser.add_argument("--only", action="append", default=[], help="rows such as bmpsuite, */tiff or Pillow/bmp; may be repeated")
    parser.add_argument("--file", action="append", default=[], help="files such as *rgba64.bmp; may be repeated")
    parser.add_argument("--json", action="store_true", help="print one JSON object for each file instead of the table")
    parser.add_argument("--verbose", action="store_true", help="print a line for each file that is not equal")
    parser.add_argument("--jobs", type=int, default=2, help="files in parallel (default: 2)")
    parser.add_argument("--timeout", type=float, default=20, help="seconds for one file (default: 20)")
    parser.add_argument("--list", action="store_true", help="print the commands that bring the suites")
    parser.add_argument("--self-test", action="store_true", help="show that the judge finds wrong pixels, crashes and hangs")
    return parser.parse_args()


def main():
    asked = arguments()
    if asked.list:
        print(*clones(), sep="\n")
        return 0
    if asked.self_test:
        import selftest
        return selftest.run()
    if not asked.folder or not os.path.isdir(asked.folder):
        print(f"judge: {asked.folder or 'SUITES'} is no folder with suites\n"
              "  try: Tests/Suites/judge.py --list prints the commands that bring them, then make conformance SUITES=DIR",
              file=sys.stderr)
        return 2
    if not os.access(asked.tool, os.X_OK):
        print(f"judge: there is no command {asked.tool}\n  try: make build, or --tool PATH", file=sys.stderr)
        return 2
    tasks, wanted = [], set()
    for suite in SUITES:
        chosen = [name for name in suite.formats if not asked.only or any(
            fnmatch.fnmatchcase(f"{suite.name}/{name}", one) or one == suite.name for one in asked.only)]
        if chosen and not os.path.isdir(os.path.join(asked.folder, suite.name)):
            print(f"judge: {suite.name} is not in {asked.folder}; --list shows how to get it", file=sys.stderr)
            continue
        for name in chosen:
            wanted.update((*suite.judges, *FORMATS[name].judges))
            tasks += [(f"{suite.name}/{name}", suite, name, inside, path) for inside, path in files(asked.folder, suite, name)
                      if not asked.file or any(fnmatch.fnmatchcase(inside, one) for one in asked.file)]
    absent = sorted(one for one in wanted if peers.missing(one))
    for one in absent:
        print(f"judge: {one} is not installed and judges nothing; try: {peers.INSTALL[one]}", file=sys.stderr)
    if not tasks:
        print(f"judge: no file of a suite is in {asked.folder}", file=sys.stderr)
        return 2
    results = work(tasks, asked, absent)
    if asked.json:
        print(*map(json.dumps, results), sep="\n")
    else:
        show(results, [one for one in decoders.JUDGES if one not in absent])
    return report(results, asked)


def work(tasks, asked, absent):
    """Judges all files, `jobs` of them at the same time. Each thread has its own process of peers."""
    started = time.monotonic()
    idle = [Peers() for _ in range(asked.jobs)]
    everyone = list(idle)

    def one(task):
        mine = idle.pop()
        try:
            return judge(task, asked.tool, absent, asked.timeout, mine.ask)
        finally:
            idle.append(mine)

    results = []
    try:
        with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
            for result in pool.map(one, tasks):
                results.append(result)
                if sys.stderr.isatty():
                    print(f"\r{len(results)} of {len(tasks)}", end="", file=sys.stderr, flush=True)
    finally:
        for one_process in everyone:
            one_process.close()
    print(f"judge: {len(tasks)} files in {time.monotonic() - started:.0f} s", file=sys.stderr)
    return results


def report(results, asked):
    failed = [one for one in results if one["verdict"] in FAILURES]
    for one in results:
        if one["verdict"] in FAILURES or asked.verbose and one["verdict"] != "equal":
            judges = "; ".join(f"{name}: {text}" for name, text in one["judges"].items())
            ours = f"{one['code']}: {one['message']}" if one["code"] else "read"
            print(f"{one['verdict']:9} {shlex.quote(one['row'] + ':' + one['file'])} ({ours}) {judges}"
                  + (f" [{one['reason']}]" if "reason" in one else ""), file=sys.stderr)
    for rows, pattern, *_ in [] if asked.file else EXCEPTIONS:
        known = [one for one in results
                 if fnmatch.fnmatchcase(one["row"], rows) and fnmatch.fnmatchcase(one["file"], pattern)]
        if known and all(one["verdict"] != "exception" for one in known):
            print(f"judge: the exception {rows} {pattern} is not needed any more; remove it from suites.py", file=sys.stderr)
    if failed:
        print(f"judge: {len(failed)} of {len(results)} files differ from every judge, or only we refuse them, or crashed",
              file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
