"""Prints what animations and images that arrive cost, beside the tools that are installed.

A row whose input or tool is missing is left out and named at the end.
"""
import argparse
import glob
import json
import os
import shutil
import statistics
import struct
import subprocess

import timing

parser = argparse.ArgumentParser()
for name in ("--tool", "--inputs", "--images", "--scratch", "--limits"):
    parser.add_argument(name)
parser.add_argument("--runs", type=int)
parser.add_argument("--cpu", type=int)
given = parser.parse_args()
os.sched_setaffinity(0, {given.cpu})
left_out = []


def there(row, *paths):
    """Whether all of these are there; otherwise the row is left out."""
    missing = [os.path.basename(path or "a tool") for path in paths if not (path and os.path.exists(path))]
    if missing:
        left_out.append(f"{row} (no {', '.join(missing)})")
    return not missing


def repeated(path, times):
    """The same animation, played so often within one file."""
    data = open(path, "rb").read()
    if data[:3] == b"GIF":
        start = 13 + (3 << (data[10] & 7) + 1 if data[10] & 0x80 else 0)
        result = data[:start] + data[start:-1] * times + b";"
    else:
        start = data.index(b"ANMF")
        body = data[12:start] + data[start:8 + struct.unpack("<I", data[4:8])[0]] * times
        result = b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body
    name, ending = os.path.splitext(os.path.basename(path))
    made = f"{given.scratch}/{name}-{times}{ending}"
    with open(made, "wb") as out:
        out.write(result)
    return made


print("\n| `frames info --decode IN` | CPU ms | start-up ms | plain C, CPU ms | ratio | Peak MiB | plain C, peak MiB |")
print("|---|---|---|---|---|---|---|")
small = f"{given.images}/three-frames.gif"
for file, ending, program in (
    ("anim.gif", "gif", "dec_gif"), ("anim_full.gif", "gif", "dec_gif"), ("anim.webp", "webp", "dec_webpanim"),
    ("anim_lossy.webp", "webp", "dec_webpanim"), ("anim.apng.png", "png", "dec_apng"),
):
    path, plain = f"{given.inputs}/{file}", f"{given.limits}/{program}"
    if not there(file, path):
        continue
    little = f"{given.scratch}/small.{ending}"
    timing.once([given.tool, "convert", small, "-o", little])
    commands = [[given.tool, "frames", "info", "--decode", each] for each in (path, little)]
    if given.limits and os.path.exists(plain):
        commands += [[plain, path], [plain, little]]
    print(f"| {file} |", timing.compare(commands, given.runs), flush=True)

print("\n| Writing | CPU ms | KB | Peak MiB |\n|---|---|---|---|")
ffmpeg, gif2webp = shutil.which("ffmpeg"), shutil.which("gif2webp")
quiet = [ffmpeg, "-hide_banner", "-loglevel", "error", "-y", "-threads", "1"]
frames = sorted(glob.glob(f"{given.inputs}/frames/*.png"))
animation = f"{given.inputs}/anim.gif"
gif, webp = f"{given.scratch}/o.gif", f"{given.scratch}/o.webp"
images = [*quiet, "-framerate", "25", "-pattern_type", "glob", "-i", f"{given.inputs}/frames/*.png"]
palette = "split[a][b];[a]palettegen[p];[b][p]paletteuse"


def write(rows, runs):
    """Measures commands in turn; each ends with the file it writes."""
    rows = [(name, command) for name, command in rows if there(name, command[0])]
    for (name, command), (cpu, memory) in zip(rows, timing.medians([row[1] for row in rows], runs)):
        timing.once(command)
        print(f"| {name} | {cpu:.0f} | {os.path.getsize(command[-1]) / 1000:.0f} | {memory:.0f} |", flush=True)


if there("GIF of images", f"{given.inputs}/frames") and frames:
    write([
        (f"{len(frames)} PNG to GIF", [given.tool, "frames", "assemble", *frames, "--delay", "1/25", "-o", gif]),
        ("the same by ffmpeg palettegen",
         [*images, "-filter_complex", palette + "=dither=none:diff_mode=rectangle", gif]),
        (f"{len(frames)} PNG to GIF, error diffusion",
         [given.tool, "frames", "assemble", *frames, "--delay", "1/25", "--dither", "diffusion", "-o", gif]),
        ("the same by ffmpeg palettegen, its own dithering", [*images, "-filter_complex", palette, gif]),
    ], min(given.runs, 5))
if there("WebP of a GIF", animation):
    write([
        ("anim.gif to WebP, lossless", [given.tool, "convert", animation, "--lossless", "-o", webp]),
        ("the same by ffmpeg", [*quiet, "-i", animation, "-c:v", "libwebp_anim", "-lossless", "1", "-loop", "0", webp]),
        ("the same by gif2webp", [gif2webp, "-quiet", animation, "-o", webp]),
        ("anim.gif to WebP, mixed", [given.tool, "convert", animation, "-O", "awebp.mixed=yes", "-o", webp]),
        ("the same by gif2webp -mixed", [gif2webp, "-quiet", "-mixed", animation, "-o", webp]),
    ], min(given.runs, 5))

print("\n| `frames info --decode` | frames | CPU ms | Peak MiB |\n|---|---|---|---|")
for file in "anim.gif", "anim.webp":
    path = f"{given.inputs}/{file}"
    if not there(f"memory of {file}", path):
        continue
    for times in 1, 50:
        made = repeated(path, times)
        told = json.loads(subprocess.check_output([given.tool, "frames", "info", "--json", made]))
        ((cpu, memory),) = timing.medians([[given.tool, "frames", "info", "--decode", made]], 3)
        print(f"| {file} × {times} | {told['frame_count']} | {cpu:.0f} | {memory:.1f} |", flush=True)

print("\n| In pieces of 16 KiB | images shown | CPU ms | of one decode |\n|---|---|---|---|")
for file in "photo12p.jpg", "photo12.jpg", "photo12.png", "photo12.webp":
    path = f"{given.inputs}/{file}"
    if not there(f"{file} in pieces", path):
        continue
    told = [json.loads(subprocess.check_output([given.tool, "progressive", "--json", path])) for _ in range(given.runs)]
    cpu, ratio = (statistics.median(run[key] for run in told) for key in ("cpu_ms", "cost_ratio"))
    print(f"| {file} | {len(told[0]['images'])} | {cpu:.0f} | {ratio:.2f} |", flush=True)
plain = f"{given.limits}/prog_jpeg"
path = f"{given.inputs}/photo12p.jpg"
if given.limits and there("libjpeg in pieces", plain, path):
    for name, how in ("libjpeg, every pass", "scan"), ("libjpeg, the end only", "final"):
        ((cpu, _),) = timing.medians([[plain, path, "16384", how]], given.runs)
        print(f"| photo12p.jpg: {name} | | {cpu:.0f} | |", flush=True)

if left_out:
    print("\nLeft out:", "; ".join(left_out))
