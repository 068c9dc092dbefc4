#!/bin/bash
# Builds everything with sanitizers, runs the tests under them in pieces, and prints one table of what they report.
#
#   Tests/Sanitizers/run.sh address|thread [PIECE…]
#
# A piece is a test target; without one, all of them, or with `thread` those that start threads. What cannot run under a
# sanitizer stands in skipped.tsv beside this file, each with its reason. Plugins that a worker loads come from BUILD
# (`make build`), and the worker itself has no sanitizer but traps for what C does not define: a sealed process has
# neither the system calls nor the address space for more. Every process, also one that a test starts and whose end it
# expects, writes its report into .build/<asan or tsan>/reports/<piece>, so that none is taken for something else.
set -euo pipefail
cd "$(dirname "$0")/../.."
sanitizer=${1:-}
shift || true
plugins=$(realpath -m "${BUILD:-.build/release}")
[ -e "$plugins/libcoder-png.so" ] || { echo "run.sh: there are no plugins in $plugins; try: make build" >&2; exit 69; }
traps=(-Xcc -fsanitize=undefined -Xcc -fsanitize-trap=undefined)

case $sanitizer in
address)
    path=.build/asan
    # What C does not define ends the process by a signal, of which the address sanitizer makes a report.
    flags=(--sanitize=address "${traps[@]}")
    # What the runtime never gives back is no leak. A plugin and the tests hold the same codec.
    variable=ASAN_OPTIONS
    options=detect_leaks=0:detect_odr_violation=0:handle_sigill=1
    ;;
thread)
    path=.build/tsan
    # The sanitizer knows the locks of the C library only; plugins take the rest of what they need from the executable.
    flags=(--sanitize=thread -Xswiftc -DTHREAD_SANITIZER)
    for name in external_write ignore_thread_begin ignore_thread_end; do
        flags+=(-Xlinker "--export-dynamic-symbol=__tsan_$name")
    done
    # What memcpy and its like touch it looks at only when asked to.
    variable=TSAN_OPTIONS
    options=halt_on_error=1:ignore_interceptors_accesses=0
    ;;
*) echo "usage: run.sh address|thread [PIECE…]" >&2; exit 64 ;;
esac
reports=$(realpath -m "$path/reports")

swift build -c release --build-path .build/undefined --product coderhost-worker "${traps[@]}"
swift build --build-path $path "${flags[@]}" --build-tests 2>&1 | sed '/Cannot export local symbol/d'
names=$(swift test list --skip-build --build-path $path "${flags[@]}" 2>/dev/null | grep '^[A-Za-z]*Tests\.')

# Skips: sanitizer, what matches the name of a test, reason.
skips=()
while IFS=$'\t' read -r which pattern reason; do
    [[ $which == "$sanitizer" || $which == both ]] || continue
    grep -q -E -- "$pattern" <<<"$names" || { echo "run.sh: skipped.tsv: no test matches: $pattern" >&2; exit 1; }
    [ -n "$reason" ] || { echo "run.sh: skipped.tsv: no reason: $pattern" >&2; exit 1; }
    skips+=("$pattern")
done < <(grep -v -e '^#' -e '^$' Tests/Sanitizers/skipped.tsv)

# A crash that prints a stack of its own would be a second report of the same thing.
export SWIFT_BACKTRACE=enable=no
export CODERHOST_TEST_WORKER_PLUGINS=$plugins
CODERHOST_WORKER=$(realpath .build/undefined/release/coderhost-worker)
export CODERHOST_WORKER

# Whether a report would be seen at all: each of these programs is wrong.
rm -rf "$reports"
mkdir -p "$reports/self"
toolchain=$(dirname "$(readlink -f "$(command -v swiftc)")")
self() { # NAME SOURCE WORD…
    local name=$1 source=$2
    "$toolchain/clang" -g "${self_flags[@]}" "Tests/Sanitizers/$source" -o "$reports/self/program"
    env "$variable=$options:log_path=$reports/self/$name" "$reports/self/program" "${@:3}" 2>/dev/null || true
    ls "$reports/self/$name".* >/dev/null 2>&1 || { echo "run.sh: nothing reports what is wrong in $source" >&2; exit 69; }
}
if [ "$sanitizer" = address ]; then
    self_flags=(-fsanitize=address,undefined -fsanitize-trap=undefined)
    self byte wrong.c
    self shift wrong.c word
else
    # Its runtime knows the queues of Swift's library, and is not to be had without.
    libraries=$toolchain/../lib/swift/linux
    self_flags=(-fsanitize=thread "-L$libraries" -ldispatch -lBlocksRuntime "-Wl,-rpath,$libraries")
    self race race.c
fi
rm -r "$reports/self"

# The rest starts no thread, and would take an hour to say so.
threaded='CoderHostCLITests CoderHostTests CoderPluginKitTests CoderWorkerTests ImageProcessingTests'
[ $# -gt 0 ] || [ "$sanitizer" = address ] || set -- $threaded
[ $# -gt 0 ] || set -- $(cut -d. -f1 <<<"$names" | sort -u)
result=0
table=''
for piece; do
    mkdir -p "$reports/$piece"
    arguments=(--filter "^$piece\\.")
    for pattern in "${skips[@]}"; do arguments+=(--skip "$pattern"); done
    skipped=$(grep "^$piece\\." <<<"$names" | { grep -c -E "$(IFS='|'; echo "${skips[*]:-^$}")" || true; })
    started=$SECONDS
    status=0
    env "$variable=$options:log_path=$reports/$piece/report:log_exe_name=1" \
        swift test --skip-build --build-path $path "${flags[@]}" "${arguments[@]}" \
        >"$reports/$piece.log" 2>&1 || status=$?
    [ $status -eq 0 ] || { result=1; grep -a '^✘' "$reports/$piece.log" >&2 || tail -n 5 "$reports/$piece.log" >&2; }
    count=$(find "$reports/$piece" -type f | wc -l)
    [ "$count" -eq 0 ] || { result=1; grep -h -a -m 1 -E 'SUMMARY|ERROR|CHECK' "$reports/$piece"/* | sort | uniq -c >&2; }
    ran=$(sed -n 's/.*Test run with \([0-9]*\) tests\{0,1\} .*/\1/p' "$reports/$piece.log" | tail -n 1)
    verdict=$([ $status -eq 0 ] && [ "$count" -eq 0 ] && echo pass || echo FAIL)
    table+=$(printf '%-24s %6s %8s %8s %7s  %s' "$piece" "${ran:-?}" "$count" "$skipped" $((SECONDS - started)) $verdict)$'\n'
    echo "== $piece: $verdict" >&2
done
printf '%-24s %6s %8s %8s %7s\n' "$sanitizer" tests reports skipped seconds
printf '%s' "$table"
exit $result
