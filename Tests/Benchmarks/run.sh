#!/bin/bash
# Measures coderhost, beside plain C programs that use the same libraries.
#
#   Tests/Benchmarks/run.sh [WORKDIR]
#
# WORKDIR keeps inputs between runs; with ../shared/bench it gets that folder's inputs (PY names a Python with numpy and
# Pillow for them), otherwise our own, made from Fixtures/pictures/photo.ppm. The plain programs are built from
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
    "$python" - "$root/Fixtures/pictures/photo.ppm" "$inputs" <<'PY'
import sys
data = open(sys.argv[1], "rb").read()
width, height = 160, 120
rows = [data[-width * height * 3:][y * width * 3:][:width * 3] for y in range(height)]
for name, across, down in ("photo12", 25, 25), ("photo4", 14, 14):
    with open(f"{sys.argv[2]}/{name}.ppm", "wb") as out:
        out.write(b"P6\n%d %d\n255\n" % (width * across, height * down))
        out.write(b"".join(row * across for row in rows) * down)
PY
    "$tool" convert "$inputs/photo12.ppm" -o "$inputs/photo12.jpg" -q 90
    "$tool" convert "$inputs/photo12.ppm" -o "$inputs/photo12.png"
    "$tool" convert "$inputs/photo12.ppm" -o "$inputs/photo12.webp" -q 80
    "$tool" convert "$inputs/photo12.ppm" -o "$inputs/photo12.heic" -q 60 --effort 1
    "$tool" convert "$inputs/photo4.ppm" -o "$inputs/photo4.avif" -q 60 --effort 1
}
complete() { for name in photo12.{jpg,png,webp,heic} photo4.avif; do [ -s "$inputs/$name" ] || return 1; done; }
# That folder makes more than is used here, so it may fail behind what is.
if ! complete && [ -n "${1:-}" ] && [ -x "$shared/inputs.sh" ]; then
    "$shared/inputs.sh" "$work" >"$work/inputs.log" 2>&1 || true
fi
complete || own_inputs

limits=
if [ -d "$shared/limits" ]; then
    limits=$scratch/limits
    mkdir "$limits"
    make -s -C "$shared/limits" B="$limits" "$limits"/{dec_jpeg,dec_png,dec_webp,dec_heif} >"$scratch/limits.log" 2>&1 \
        || { echo "run.sh: the plain programs cannot be built:" >&2; tail -3 "$scratch/limits.log" >&2; limits=; }
fi

# Six plugins of the package, one of a third party, and one that ends the process if it is ever loaded.
mkdir "$scratch/plugins"
for source in qoi/qoi bad/constructor-aborts; do
    cc -std=c11 -O2 -shared -fPIC -I Sources/CCoderPlugin/include "Tests/ThirdParty/$source.c" \
        -o "$scratch/plugins/libcoder-${source##*/}.so"
done

"$python" Tests/Benchmarks/measure.py --tool "$tool" --inputs "$inputs" --pictures Fixtures/pictures \
    --plugins "$scratch/plugins" ${limits:+--limits "$limits"} --runs "${RUNS:-15}" --cpu "${CPU:-0}"
