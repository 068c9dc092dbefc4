"""Shows that the judge can fail: a command that delivers wrong pixels, crashes, hangs or refuses must be found."""
import os
import struct
import tempfile

import numpy as np

import decoders
import judge
import peers
import pixels
from suites import Suite

# Stands in for coderhost: the input names what happens, and the pixels are in a file next to it.
COMMAND = """#!/bin/sh
[ "$1" = info ] && { echo '{"color_profile": null}'; exit 0; }
case $(cat "$2") in
    read) cp "$2.tif" "$6" ;;
    refuse) echo '{"error": {"code": "corrupt", "message": "damaged"}}'; exit 65 ;;
    mute) exit 1 ;;
    crash) kill -s SEGV $$ ;;
    hang) exec sleep 20 ;;
esac
"""


def plain_tiff(array):
    height, width, channels = array.shape
    tags = [(256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 2), (273, 4, 1, 8),
            (277, 3, 1, channels), (278, 4, 1, height), (279, 4, 1, array.nbytes)]
    directory = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags) + bytes(4)
    return b"II*\0" + struct.pack("<I", 8 + array.nbytes) + array.tobytes() + directory


GOOD = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3) + 50
ONE_OFF, WRONG = GOOD.copy(), GOOD.copy()
ONE_OFF[3, 4, 2] += 1
WRONG[3, 4, 2] += 2

# What the command does, the pixels of the reference (none: it refuses), the verdict.
CASES = [
    ("read", GOOD, "equal"),
    ("read", ONE_OFF, "within"),
    ("read", WRONG, "differs"),
    ("read", GOOD[:3], "differs"),
    ("read", GOOD[::-1], "differs"),
    ("read", None, "unjudged"),
    ("refuse", GOOD, "lost"),
    ("refuse", None, "refused"),
    ("mute", GOOD, "crash"),
    ("crash", None, "crash"),
    ("hang", GOOD, "crash"),
]


def reference(path, kind):
    if not os.path.exists(path + ".npy"):
        raise pixels.Unreadable("told to refuse")
    return pixels.image(np.load(path + ".npy"))


def run():
    decoders.JUDGES["selftest"] = reference
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        tool = os.path.join(folder, "tool")
        with open(tool, "w") as file:
            file.write(COMMAND)
        os.chmod(tool, 0o755)
        suite = Suite("selftest", "", "", {"bmp": ""}, ("selftest",))
        for number, (action, pixels_of_reference, wanted) in enumerate(CASES):
            path = os.path.join(folder, f"{number}.bmp")
            with open(path, "w") as file:
                file.write(action)
            with open(path + ".tif", "wb") as file:
                file.write(plain_tiff(GOOD))
            if pixels_of_reference is not None:
                np.save(path + ".npy", pixels_of_reference)
            server = peers.Server()
            found = judge.judge(("selftest/bmp", suite, "bmp", f"{number}.bmp", path), tool, peers_but("selftest"), 1,
                                lambda **question: server.answer(question))
            if found["verdict"] != wanted:
                failures += 1
                print(f"judge: self-test {number}: {action} is judged {found['verdict']}, expected {wanted}: {found['judges']}")
    print(f"judge: self-test: {len(CASES) - failures} of {len(CASES)} verdicts are right")
    return 1 if failures else 0


def peers_but(name):
    return [one for one in decoders.JUDGES if one != name]
