#!/bin/bash
# Keeps the promises of the README, one after the other, and prints one table of them.
#
#   Tests/Prove/run.sh [ROW…]
#
# Every executable file in Tests/Prove/rows is one row, or several: it prints lines of four columns, separated by tabs
# (promise, bar, measured, pass or FAIL), and may write what it has to say beside that to standard error. It finds in
# BUILD the folder with programs and plugins, in SCRATCH an empty folder of its own, in FOUND one whose files stay; it
# may ask for COUNT where that is set, to do less. A row that ends with an error and says nothing has failed.
set -euo pipefail
cd "$(dirname "$0")/../.."
export BUILD FOUND
BUILD=$(realpath "${BUILD:-.build/release}")
FOUND=$(realpath -m "${FOUND:-.build/prove}")
for program in coderhost coderhost-fuzz; do
    [ -x "$BUILD/$program" ] || { echo "run.sh: $BUILD/$program is not there; try: make build" >&2; exit 69; }
done
mkdir -p "$FOUND"
table=$(mktemp)
trap 'rm -rf "$table"' EXIT

printf 'promise\tbar\tmeasured\tresult\n' >"$table"
for row in Tests/Prove/rows/*; do
    name=${row##*/}
    [ -x "$row" ] || continue
    [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
    echo "== $name" >&2
    SCRATCH=$(mktemp -d)
    export SCRATCH
    lines=$("$row") || true
    rm -rf "$SCRATCH"
    [ -n "$lines" ] || lines=$(printf '%s\t\tno answer\tFAIL' "$name")
    printf '%s\n' "$lines" >>"$table"
done
# Columns as wide as their widest word.
awk -F'\t' 'NR == FNR { for (i = 1; i <= NF; i++) if (length($i) > wide[i]) wide[i] = length($i); next }
    { for (i = 1; i < NF; i++) printf "%-*s  ", wide[i], $i; print $NF }' "$table" "$table"
date -u +'measured %Y-%m-%d %H:%M UTC'
! grep -q 'FAIL$' "$table"
