"""Runs the commands of each row in turn (A B A B …), on one core, and prints medians of CPU time and of peak memory.

Decoding is compared beyond a fixed start-up: what the same command takes for a picture of 31x17 pixels is subtracted
on both sides. Only CPU time (user + system) is told; wall time depends on what else the machine does.
"""
import argparse
import os
import platform
import statistics

parser = argparse.ArgumentParser()
for name in ("--tool", "--inputs", "--pictures", "--plugins", "--limits"):
    parser.add_argument(name)
parser.add_argument("--runs", type=int)
parser.add_argument("--cpu", type=int)
given = parser.parse_args()
os.sched_setaffinity(0, {given.cpu})
null = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in (0, 1, 2)]


def once(command):
    """CPU milliseconds and peak MiB of one run."""
    child = os.posix_spawn(command[0], command, os.environ, file_actions=null)
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return (usage.ru_utime + usage.ru_stime) * 1000, usage.ru_maxrss / 1024


def medians(commands):
    """For each command its medians; the runs are interleaved, so that a drift of the machine hits all alike."""
    for command in commands:
        once(command)
    measured = [[once(command) for command in commands] for _ in range(given.runs)]
    return [tuple(statistics.median(run[i][k] for run in measured) for k in (0, 1)) for i in range(len(commands))]


def model():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


print(f"{model()}, one core, {given.runs} interleaved runs, medians\n")

listing = [given.tool, "list", "--plugin-dir", given.plugins]
telling = [given.tool, "info", f"{given.inputs}/photo12.jpg"]
count = len(os.listdir(given.plugins)) + sum(
    name.startswith("libcoder-") and name.endswith(".so") for name in os.listdir(os.path.dirname(given.tool)))
print("| Command | CPU ms | Peak MiB |\n|---|---|---|")
for name, (cpu, memory) in zip((f"`list`, {count} plugins", "`info photo12.jpg`"), medians([listing, telling])):
    print(f"| {name} | {cpu:.1f} | {memory:.1f} |")

print("\n| `convert IN -o /dev/null -f pam` | CPU ms | start-up ms | plain C, CPU ms | ratio | Peak MiB | plain C, peak MiB |")
print("|---|---|---|---|---|---|---|")
for file, small, program in (
    ("photo12.jpg", "f.jpg", "dec_jpeg"), ("photo12.png", "f.png", "dec_png"), ("photo12.webp", "f.webp", "dec_webp"),
    ("photo12.heic", "f.heic", "dec_heif"), ("photo4.avif", "f.avif", "dec_heif"),
):
    paths = f"{given.inputs}/{file}", f"{given.pictures}/{small}"
    commands = [[given.tool, "convert", path, "-o", "/dev/null", "-f", "pam"] for path in paths]
    if given.limits:
        commands += [[f"{given.limits}/{program}", path] for path in paths]
    results = medians(commands)
    (cpu, memory), (start, _) = results[:2]
    row = f"| {file} | {cpu:.0f} | {start:.1f} | "
    if given.limits:
        (limit, limit_memory), (limit_start, _) = results[2:]
        row += f"{limit:.0f} | {(cpu - start) / (limit - limit_start):.2f} | {memory:.0f} | {limit_memory:.0f} |"
    else:
        row += f"| | {memory:.0f} | |"
    print(row, flush=True)
