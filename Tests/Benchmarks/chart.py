"""Draws the decoding rows of measure.py as a bar chart for README.md.

    chart.py TABLE OUT.svg      TABLE has the lines that measure.py prints, as README.md has; "-" is standard input

Each image has two bars, the command above a plain C program, and a scale of its own: the longer bar fills the width.
Without figures for C the script writes nothing, and the chart stays as it was.
"""
import sys
from pathlib import Path

WIDTH = 624
LEFT, RIGHT = 104, 112
TOP, BAR, GAP, PAIR = 64, 14, 3, 46
# The panel has a background of its own, so the page behind it may be light or dark.
PANEL, INK, FAINT = "#1c2128", "#e6e9ed", "#9aa4af"
OURS, PLAIN = "#4ea1ff", "#7d8794"
FORMATS = {"jpg": "JPEG", "png": "PNG", "webp": "WebP", "heic": "HEIC", "avif": "AVIF"}


def rows(lines):
    """Yields (format, megapixels, ms of the command, ms of plain C) of every row that has both times."""
    for line in lines:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        name, _, extension = cells[0].partition(".")
        if not name.startswith("photo") or extension not in FORMATS or len(cells) < 4:
            continue
        try:
            yield FORMATS[extension], name.removeprefix("photo"), float(cells[1]), float(cells[3])
        except ValueError:
            continue  # the plain program was not built


def text(x, y, words, color=INK, size=13, anchor="start"):
    return f'<text x="{x}" y="{y}" fill="{color}" font-size="{size}" text-anchor="{anchor}">{words}</text>'


def bar(y, milliseconds, longest, color, ink):
    length = max(1.0, (WIDTH - LEFT - RIGHT) * milliseconds / longest)
    return [
        f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR}" rx="2" fill="{color}"/>',
        text(round(LEFT + length + 6, 1), y + BAR - 3, f"{milliseconds:.0f} ms", ink, 12),
    ]


def chart(measured):
    height = TOP + PAIR * len(measured) + 6
    summary = "; ".join(f"{kind} {ours:.0f} and {plain:.0f}" for kind, _, ours, plain in measured)
    title = "CPU time to decode one image"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
        ' font-family="sans-serif" role="img" aria-labelledby="title summary">',
        f'<title id="title">{title}</title>',
        f'<desc id="summary">Milliseconds of coderhost and of plain C: {summary}.</desc>',
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="{PANEL}"/>',
        text(16, 26, title, size=15),
        text(16, 46, "shorter is faster; start-up included; each image has its own scale", FAINT, 12),
        f'<rect x="{WIDTH - 188}" y="15" width="12" height="12" rx="2" fill="{OURS}"/>',
        text(WIDTH - 170, 26, "coderhost", size=12),
        f'<rect x="{WIDTH - 92}" y="15" width="12" height="12" rx="2" fill="{PLAIN}"/>',
        text(WIDTH - 74, 26, "plain C", size=12),
    ]
    for index, (kind, megapixels, ours, plain) in enumerate(measured):
        y = TOP + PAIR * index
        parts += [text(16, y + 14, kind), text(16, y + 29, f"{megapixels} MP", FAINT, 12)]
        parts += bar(y, ours, max(ours, plain), OURS, INK)
        parts += bar(y + BAR + GAP, plain, max(ours, plain), PLAIN, FAINT)
    return "\n".join(parts) + "\n</svg>\n"


def main():
    if len(sys.argv) != 3:
        raise SystemExit("usage: chart.py TABLE OUT.svg")
    table, out = sys.argv[1:]
    measured = list(rows(sys.stdin if table == "-" else Path(table).read_text().splitlines()))
    if not measured:
        print("\nno chart: there are no figures of the plain C programs")
        return
    Path(out).parent.mkdir(exist_ok=True)
    Path(out).write_text(chart(measured))
    print(f"\n{out}: {len(measured)} images")


main()
