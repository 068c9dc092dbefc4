#!/bin/bash
# Checks the promises of the README one after the other, and prints a table of the results.
#
#   Tests/Prove/run.sh [ROW…]
#
# Every executable file in Tests/Prove/rows produces one or more rows: lines of four columns, separated by tabs
# (promise, bar, measured, pass or FAIL). Other messages go to standard error. BUILD is the folder with programs and
# plugins, SCRATCH an empty folder for the row, FOUND a folder whose files are kept. If COUNT is set, a row may do that
# many repetitions. A row that exits with an error and prints nothing has failed.
set -euo pipefail
cd "$(dirname "$0")/../.."
export BUILD FOUND
BUILD=$(realpath "${BUILD:-.build/release}")
FOUND=$(realpath -m "${FOUND:-.build/prove}")
for program in coderhost coderhost-fuzz; do
    [ -x "$BUILD/$program" ] || { echo "run.sh: $BUILD/$program is missing; try: make build" >&2; exit 69; }
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
# Makes columns as wide as their widest word.
awk -F'\t' 'NR == FNR { for (i = 1; i <= NF; i++) if (length($i) > wide[i]) wide[i] = length($i); next }
    { for (i = 1; i < NF; i++) printf "%-*s  ", wide[i], $i; print $NF }' "$table" "$table"
date -u +'measured %Y-%m-%d %H:%M UTC'
! grep -q 'FAIL$' "$table"
