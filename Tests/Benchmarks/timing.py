"""CPU time and peak memory of commands that take turns (A B A B …), so that a drift of the machine hits all alike.

Only CPU time (user + system) is told; wall time depends on what else the machine does.
"""
import os
import platform
import statistics

_null = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in (0, 1, 2)]


def once(command):
    """CPU milliseconds and peak MiB of one run."""
    child = os.posix_spawn(command[0], command, os.environ, file_actions=_null)
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{' '.join(command)[:400]} ended with {os.waitstatus_to_exitcode(status)}")
    return (usage.ru_utime + usage.ru_stime) * 1000, usage.ru_maxrss / 1024


def medians(commands, runs):
    """For each command its medians, after one run that does not count."""
    for command in commands:
        once(command)
    measured = [[once(command) for command in commands] for _ in range(runs)]
    return [tuple(statistics.median(run[i][k] for run in measured) for k in (0, 1)) for i in range(len(commands))]


def model():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def compare(commands, runs):
    """A row's cells: ours on a file and on a small one, and the plain program's, or nothing, on the same."""
    results = medians(commands, runs)
    (cpu, memory), (start, _) = results[:2]
    if len(results) == 2:
        return f"{cpu:.0f} | {start:.1f} | | | {memory:.0f} | |"
    (plain, plain_memory), (plain_start, _) = results[2:]
    ratio = (cpu - start) / (plain - plain_start)
    return f"{cpu:.0f} | {start:.1f} | {plain:.0f} | {ratio:.2f} | {memory:.0f} | {plain_memory:.0f} |"
