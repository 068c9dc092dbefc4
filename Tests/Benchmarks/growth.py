"""Prints how the cost of an operation grows from 1 to 400 megapixels: CPU time per megapixel, and peak memory.

All sizes repeat the same rows, so that only the size differs. The start-up, measured with one pixel, is subtracted.
"""
import argparse
import os

import timing

parser = argparse.ArgumentParser()
for name in ("--tool", "--inputs", "--scratch"):
    parser.add_argument(name)
parser.add_argument("--runs", type=int)
parser.add_argument("--cpu", type=int)
given = parser.parse_args()
os.sched_setaffinity(0, {given.cpu})

SIZES = {1: (1155, 866), 12: (4000, 3000), 100: (10_000, 10_000), 400: (20_000, 20_000)}
LIMITS = ["--limits", "off"]
# Whole images in memory are measured up to this size.
MOST_WHOLE = 100


def repeated(source, path, width, height):
    """Writes an image that repeats the rows of another, without a repetition that a compressor could find."""
    with open(source, "rb") as file:
        assert file.readline() == b"P6\n"
        across, down = map(int, file.readline().split())
        file.readline()
        rows = [file.read(across * 3) for _ in range(down)]
    with open(path, "wb") as out:
        out.write(b"P6\n%d %d\n255\n" % (width, height))
        for y in range(height):
            parts = (rows[(y + 997 * part) % down] for part in range(width // across + 1))
            out.write(b"".join(parts)[: width * 3])


def convert(source, target, *more):
    return [given.tool, "convert", source, "-o", target, "--overwrite", "--threads", "1", *LIMITS, *more]


source = f"{given.inputs}/photo12.ppm"
if not os.path.exists(source):
    raise SystemExit(0)
images = {}
for size, sides in {0: (1, 1), **SIZES}.items():
    images[size] = f"{given.scratch}/g{size}.ppm"
    # In a process of its own: the peak memory of a command begins with that of the process that starts it.
    if (child := os.fork()) == 0:
        repeated(source, images[size], *sides)
        os._exit(0)
    os.waitpid(child, 0)
    for suffix in ("jpg", "png"):
        timing.once(convert(images[size], f"{given.scratch}/g{size}.{suffix}"))

# Replaced by numbers for each size.
PART, HALF = "most of it", "half"
OPERATIONS = [
    ("decode JPEG", "jpg", ["/dev/null", "-f", "pam"]),
    ("decode PNG", "png", ["/dev/null", "-f", "pam"]),
    *((f"encode {name}", "ppm", ["/dev/null", "-f", name]) for name in ("jpeg", "png", "pam", "farbfeld")),
    *((f"`{' '.join(more)}`", "ppm", ["/dev/null", "-f", "pam", *more]) for more in (
        ["--resize", "500x"], ["--crop", PART], ["--flip", "horizontal"], ["--icc", "p3"],
        ["--effect", "grayscale"], ["--blur", "5"], ["--rotate", "7"])),
    ("JPEG to PNG", "jpg", ["/dev/null", "-f", "png"]),
    ("JPEG, all of them, to PNG", "jpg",
     ["/dev/null", "-f", "png", "--crop", PART, "--resize", HALF, "--flip", "horizontal", "--icc", "p3", "--blur", "5"]),
]

print("\n| CPU ms for each megapixel | " + " | ".join(f"{size} MP" for size in SIZES)
      + " | most, of 12 MP | Peak MiB: " + " | ".join(f"{size} MP" for size in SIZES) + " |")
print("|---" * (2 * len(SIZES) + 2) + "|")
for name, suffix, arguments in OPERATIONS:
    def command(size):
        width, height = {0: (1, 1), **SIZES}[size]
        numbers = {
            PART: f"{width * 4 // 5 or 1}x{height * 4 // 5 or 1}+{width // 10}+{height // 10}",
            HALF: f"{width // 2 or 1}x{height // 2 or 1}"}
        return convert(f"{given.scratch}/g{size}.{suffix}", *(numbers.get(word, word) for word in arguments))

    start = timing.medians([command(0)], given.runs)[0][0]
    costs, memory = {}, {}
    for size, sides in SIZES.items():
        if size > MOST_WHOLE and ("farbfeld" in arguments or "--rotate" in arguments):
            continue
        cpu, peak = timing.medians([command(size)], given.runs if size < 100 else min(given.runs, 3))[0]
        costs[size] = (cpu - start) / (sides[0] * sides[1] / 1e6)
        memory[size] = peak
    most = max(costs.values()) / costs[12]
    cells = [f"{costs[size]:.1f}" if size in costs else "" for size in SIZES] + [f"{most:.2f}"]
    cells += [f"{memory[size]:.0f}" if size in memory else "" for size in SIZES]
    print(f"| {name} |", " | ".join(cells), "|", flush=True)
for size in images:
    for suffix in ("ppm", "jpg", "png"):
        os.remove(f"{given.scratch}/g{size}.{suffix}")
