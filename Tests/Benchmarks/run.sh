#!/bin/bash
# Measures coderhost, beside plain C programs that use the format libraries and other tools that are installed, and
# draws the chart of README.md.
#
#   Tests/Benchmarks/run.sh [WORKDIR]
#
# WORKDIR keeps inputs between runs; with ../shared/bench it gets that folder's inputs (PY names a Python with numpy and
# Pillow for them), otherwise our own, made from Fixtures/images/photo.ppm. The plain programs are built from
# ../shared/bench/limits where that is there; without it their columns stay empty.
# RUNS=15 BUILD=.build/release CPU=0 SHARED=../shared/bench can be set.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
build=$(realpath "${BUILD:-.build/release}")
shared=${SHARED:-$(realpath -m "$root/../shared")/bench}
tool=$build/coderhost
[ -x "$tool" ] || { echo "run.sh: $tool is not there; try: make build" >&2; exit 69; }
# A version manager's python3 is a script that starts slowly; the system's is not.
python=$(PATH=/usr/bin:$PATH command -v python3)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
work=$(realpath -m "${1:-$scratch/work}")
inputs=$work/in
mkdir -p "$inputs"

# 12 megapixels that compress as a photo does; the coders themselves make the other formats.
own_inputs() {
    "$python" - "$root/Fixtures/images/photo.ppm" "$inputs" <<'PY'
import sys
data = open(sys.argv[1], "rb").read()
width, height = 160, 120
rows = [data[-width * height * 3:][y * width * 3:][:width * 3] for y in range(height)]
for name, across, down in ("photo12", 25, 25), ("photo4", 14, 14):
    with open(f"{sys.argv[2]}/{name}.ppm", "wb") as out:
        out.write(b"P6\n%d %d\n255\n" % (width * across, height * down))
        out.write(b"".join(row * across for row in rows) * down)
# A block that wanders over an image.
still = b"".join(row * 3 for row in rows) * 3
for number in range(100):
    image = bytearray(still)
    for y in range(height):
        at = ((y + 2 * number) * 3 * width + 3 * number) * 3
        image[at:at + width * 3] = bytes(255 - value for value in rows[y])
    with open(f"{sys.argv[2]}/f{number:03}.ppm", "wb") as out:
        out.write(b"P6\n480 360\n255\n" + image)
PY
    mkdir -p "$inputs/frames"
    local image
    for image in "$inputs"/f???.ppm; do
        "$tool" convert "$image" -o "$inputs/frames/$(basename "$image" .ppm).png" --effort 1
    done
    rm "$inputs"/f???.ppm
    "$tool" frames assemble "$inputs"/frames/*.png -o "$inputs/anim.gif" --delay 1/25
    "$tool" convert "$inputs/anim.gif" -o "$inputs/anim.webp" --lossless
    "$tool" convert "$inputs/anim.gif" -o "$inputs/anim_lossy.webp" -q 75
    "$tool" frames assemble "$inputs"/frames/*.png -o "$inputs/anim.apng.png" --delay 1/25 --effort 1
    "$tool" convert "$inputs/photo12.ppm" -o "$inputs/photo12.jpg" -q 90
    "$tool" convert "$inputs/photo12.ppm" -o "$inputs/photo12p.jpg" -q 90 -O jpeg.progressive=yes
    "$tool" convert "$inputs/photo12.ppm" -o "$inputs/photo12.png"
    "$tool" convert "$inputs/photo12.ppm" -o "$inputs/photo12.webp" -q 80
    "$tool" convert "$inputs/photo12.ppm" -o "$inputs/photo12.heic" -q 60 --effort 1
    "$tool" convert "$inputs/photo4.ppm" -o "$inputs/photo4.avif" -q 60 --effort 1
}
complete() {
    for name in photo12.{jpg,png,webp,heic} photo12p.jpg photo4.avif anim.gif; do
        [ -s "$inputs/$name" ] || return 1
    done
}
# That folder makes more than is used here, so it may fail behind what is.
if ! complete && [ -n "${1:-}" ] && [ -x "$shared/inputs.sh" ]; then
    "$shared/inputs.sh" "$work" >"$work/inputs.log" 2>&1 || true
fi
complete || own_inputs

limits=
if [ -d "$shared/limits" ]; then
    limits=$scratch/limits
    mkdir "$limits"
    for program in dec_jpeg dec_png dec_webp dec_heif dec_gif dec_webpanim dec_apng prog_jpeg thumb_jpeg; do
        make -s -C "$shared/limits" B="$limits" "$limits/$program" >"$scratch/limits.log" 2>&1 \
            || { echo "run.sh: the plain program $program cannot be built:" >&2; tail -3 "$scratch/limits.log" >&2; }
    done
fi

# The plugins of the package, one of a third party, and one that ends the process if it is ever loaded.
mkdir "$scratch/plugins"
for source in qoi/qoi bad/constructor-aborts; do
    cc -std=c11 -O2 -shared -fPIC -I Sources/CCoderPlugin/include "Tests/ThirdParty/$source.c" \
        -o "$scratch/plugins/libcoder-${source##*/}.so"
done

"$python" -B Tests/Benchmarks/measure.py --tool "$tool" --inputs "$inputs" --images Fixtures/images \
    --plugins "$scratch/plugins" ${limits:+--limits "$limits"} --runs "${RUNS:-15}" --cpu "${CPU:-0}" | tee "$scratch/decoding"
"$python" -B Tests/Benchmarks/motion.py --tool "$tool" --inputs "$inputs" --images Fixtures/images \
    --scratch "$scratch" ${limits:+--limits "$limits"} --runs "${RUNS:-15}" --cpu "${CPU:-0}"
"$python" -B Tests/Benchmarks/images.py --tool "$tool" --inputs "$inputs" --scratch "$scratch" \
    ${limits:+--limits "$limits"} --runs "${RUNS:-15}" --cpu "${CPU:-0}"
"$python" -B Tests/Benchmarks/formats.py --tool "$tool" --inputs "$inputs" --scratch "$scratch" --runs "${RUNS:-15}" \
    --cpu "${CPU:-0}"
"$python" -B Tests/Benchmarks/growth.py --tool "$tool" --inputs "$inputs" --scratch "$scratch" --runs "${RUNS:-15}" \
    --cpu "${CPU:-0}"
"$python" -B Tests/Benchmarks/chart.py "$scratch/decoding" "$root/Sources/CoderHost/CoderHost.docc/Resources/benchmark.svg"
