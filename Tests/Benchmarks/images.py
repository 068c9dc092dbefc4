"""Prints what smaller images cost, beside a plain C program and the tools that are installed.

A row whose input is missing is left out; a tool that is missing leaves its column empty.
"""
import argparse
import glob
import os
import resource
import shutil
import statistics
import time

import timing

parser = argparse.ArgumentParser()
for name in ("--tool", "--inputs", "--scratch", "--limits"):
    parser.add_argument(name)
parser.add_argument("--runs", type=int)
parser.add_argument("--cpu", type=int)
given = parser.parse_args()
everywhere = os.sched_getaffinity(0)
os.sched_setaffinity(0, {given.cpu})
os.environ.update(VIPS_CONCURRENCY="1", VIPS_WARNING="0")
vips, gdk = shutil.which("vipsthumbnail"), shutil.which("gdk-pixbuf-thumbnailer")
plain = f"{given.limits}/thumb_jpeg" if given.limits else ""


def tools(path, side):
    """Commands that make the same thumbnail, by name."""
    out = f"{given.scratch}/t"
    rows = {"ours": [given.tool, "thumbnail", path, "-s", str(side), "-q", "75", "-o", out + ".jpg"]}
    if path.endswith("jpg") and os.path.exists(plain):
        rows["plain C"] = [plain, "-s", str(side), out + "c.jpg", path]
    if vips:
        rows["vipsthumbnail"] = [vips, path, "-s", str(side), "-o", out + "v.jpg[Q=75]"]
    if gdk and not path.endswith(("webp", "heic", "avif")):
        rows["gdk-pixbuf"] = [gdk, "-s", str(side), path, out + "g.png"]
    return rows


print("\n| `thumbnail IN`, CPU ms | side | ours | plain C | vipsthumbnail | gdk-pixbuf | Peak MiB: ours | plain C | vips |")
print("|---|---|---|---|---|---|---|---|---|")
for file, side in (
    ("photo12.jpg", 256), ("photo12p.jpg", 256), ("photo12.png", 256), ("photo12.webp", 256), ("photo12.heic", 256),
    ("photo4.avif", 256), ("huge.jpg", 1000), ("huge.png", 1000),
):
    path = f"{given.inputs}/{file}"
    if not os.path.exists(path):
        continue
    rows = tools(path, side)
    runs = given.runs if os.path.getsize(path) < 20_000_000 and not path.endswith("heic") else min(given.runs, 5)
    figures = dict(zip(rows, timing.medians(list(rows.values()), runs)))
    cpu = [f"{figures[name][0]:.0f}" if name in figures else "" for name in ("ours", "plain C", "vipsthumbnail", "gdk-pixbuf")]
    memory = [f"{figures[name][1]:.0f}" if name in figures else "" for name in ("ours", "plain C", "vipsthumbnail")]
    print(f"| {file} | {side} |", " | ".join(cpu + memory), "|", flush=True)

print("\n| Of 12 megapixels, CPU ms | without start-up, reading and writing |\n|---|---|")
source = f"{given.inputs}/photo12.jpg"
if os.path.exists(source):
    for name, more in ("RGB", []), ("RGBA", ["--round", "40"]):
        image = f"{given.scratch}/{name}.pam"
        timing.once([given.tool, "convert", source, "-o", image, *more])
        crop = [given.tool, "convert", image, "-o", "/dev/null", "-f", "pam", "--crop", "1333x1000+0+0"]
        resize = [given.tool, "convert", image, "-o", "/dev/null", "-f", "pam", "--resize", "1333x1000"]
        (without, _), (whole, _) = timing.medians([crop, resize], given.runs)
        print(f"| Lanczos3 of {name} to 1333x1000 | {whole - without:.0f} |", flush=True)
        os.remove(image)

images = sorted(glob.glob(f"{given.inputs}/batch/*.jpg"))
if images:
    os.sched_setaffinity(0, everywhere)
    print(f"\n| {len(images)} JPEGs → 256 | images a second | CPU s | Peak MiB |\n|---|---|---|---|")
    folder = f"{given.scratch}/batch"
    rows = {"ours": [given.tool, "thumbnail", *images, "-s", "256", "-q", "75", "-o", folder + "/"]}
    if os.path.exists(plain):
        each = f"printf '%s\\n' {given.inputs}/batch/*.jpg | xargs -P {len(everywhere)} -n 10 {plain} {folder}/"
        rows["plain C by xargs"] = ["/bin/sh", "-c", each]
    if vips:
        rows["vipsthumbnail"] = [vips, "--size", "256", "-o", folder + "/%s.jpg", *images]
    told = {name: [] for name in rows}
    for _ in range(4):
        for name, command in rows.items():
            shutil.rmtree(folder, ignore_errors=True)
            os.mkdir(folder)
            begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
            _, memory = timing.once(command)
            seconds, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            told[name].append((len(os.listdir(folder)) / seconds, cpu, memory))
    for name, runs in told.items():
        # The first warms up; of `sh` the memory would be that of the shell.
        rate, cpu, memory = (statistics.median(run[i] for run in runs[1:]) for i in range(3))
        print(f"| {name} | {rate:.0f} | {cpu:.1f} | {'' if 'xargs' in name else f'{memory:.0f}'} |", flush=True)
