"""Prints medians of CPU time and of peak memory: what starting costs, and decoding stills.

Decoding is compared beyond a fixed start-up: what the same command takes for an image of 31x17 pixels is subtracted
on both sides.
"""
import argparse
import os

import timing

parser = argparse.ArgumentParser()
for name in ("--tool", "--inputs", "--images", "--plugins", "--limits"):
    parser.add_argument(name)
parser.add_argument("--runs", type=int)
parser.add_argument("--cpu", type=int)
given = parser.parse_args()
os.sched_setaffinity(0, {given.cpu})

print(f"{timing.model()}, one core, {given.runs} interleaved runs, medians\n")

listing = [given.tool, "list", "--plugin-dir", given.plugins]
telling = [given.tool, "info", f"{given.inputs}/photo12.jpg"]
count = len(os.listdir(given.plugins)) + sum(
    name.startswith("libcoder-") and name.endswith(".so") for name in os.listdir(os.path.dirname(given.tool)))
print("| Command | CPU ms | Peak MiB |\n|---|---|---|")
results = timing.medians([listing, telling], given.runs)
for name, (cpu, memory) in zip((f"`list`, {count} plugins", "`info photo12.jpg`"), results):
    print(f"| {name} | {cpu:.1f} | {memory:.1f} |")

print("\n| `convert IN -o /dev/null -f pam` | CPU ms | start-up ms | plain C, CPU ms | ratio | Peak MiB | plain C, peak MiB |")
print("|---|---|---|---|---|---|---|")
for file, small, program in (
    ("photo12.jpg", "f.jpg", "dec_jpeg"), ("photo12.png", "f.png", "dec_png"), ("photo12.webp", "f.webp", "dec_webp"),
    ("photo12.heic", "f.heic", "dec_heif"), ("photo4.avif", "f.avif", "dec_heif"),
):
    paths = f"{given.inputs}/{file}", f"{given.images}/{small}"
    commands = [[given.tool, "convert", path, "-o", "/dev/null", "-f", "pam"] for path in paths]
    if given.limits and os.path.exists(f"{given.limits}/{program}"):
        commands += [[f"{given.limits}/{program}", path] for path in paths]
    print(f"| {file} |", timing.compare(commands, given.runs), flush=True)
