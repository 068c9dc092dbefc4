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
    options=halt_on_error=1:ignore_interceptors_accesses=0:suppressions=$PWD/Tests/Sanitizers/thread.supp
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
    "$toolchain/clang" -g -fuse-ld=lld "${self_flags[@]}" "Tests/Sanitizers/$source" -o "$reports/self/program"
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
threaded='CoderHostCLITests CoderHostTests CoderPluginKitTests CoderWorkerTests ImageLoadingTests ImageProcessingTests'
[ $# -gt 0 ] || [ "$sanitizer" = address ] || set -- $threaded
[ $# -gt 0 ] || set -- $(cut -d. -f1 <<<"$names" | sort -u)
# The tests of a run begin together, and each has a limit of time: suites of some dozen tests run at a time.
batches() { # PIECE, its suites in the form of a filter, one batch a line
    grep "^$1\\." <<<"$names" | sed 's,/.*,,' | uniq -c | awk '
        { count = $1; sub(/^ *[0-9]+ /, ""); gsub(/[][\\.*^$()+?{}|]/, "\\\\&"); gsub(/`/, "`?") }
        { text = text (text ? "|" : "") $0; sum += count }
        sum >= 40 { print "^(" text ")/"; text = ""; sum = 0 }
        END { if (text) print "^(" text ")/" }'
}

result=0
table=''
left_out=$(IFS='|'; echo "${skips[*]:-^$}")
for piece; do
    mkdir -p "$reports/$piece"
    wanted=$(grep "^$piece\." <<<"$names" | grep -v -c -E "$left_out" || true)
    skipped=$(grep "^$piece\." <<<"$names" | grep -c -E "$left_out" || true)
    started=$SECONDS
    ran=0
    verdict=pass
    number=0
    while read -r filter; do
        number=$((number + 1))
        log=$reports/$piece-$number.log
        arguments=(--filter "$filter")
        for pattern in "${skips[@]}"; do arguments+=(--skip "$pattern"); done
        env "$variable=$options:log_path=$reports/$piece/report:log_exe_name=1" \
            swift test --skip-build --build-path $path "${flags[@]}" "${arguments[@]}" </dev/null >"$log" 2>&1 \
            || { verdict=FAIL; grep -a '^✘' "$log" >&2 || tail -n 5 "$log" >&2; }
        here=$(sed -n 's/.*Test run with \([0-9]*\) tests\{0,1\} .*/\1/p' "$log" | tail -n 1)
        ran=$((ran + ${here:-0}))
    done < <(batches "$piece")
    count=$(find "$reports/$piece" -type f | wc -l)
    if [ "$count" -gt 0 ]; then
        verdict=FAIL
        grep -h -a -m 1 -E 'SUMMARY|ERROR|CHECK' "$reports/$piece"/* | sort | uniq -c >&2
    fi
    # A test that neither ran nor is listed would be one that nobody misses.
    [ "$ran" -eq "$wanted" ] || { verdict=FAIL; echo "$piece: $ran of $wanted tests ran" >&2; }
    [ $verdict = pass ] || result=1
    line=$(printf '%-24s %6s %8s %8s %7s  %s' "$piece" $ran "$count" "$skipped" $((SECONDS - started)) $verdict)
    table+=$line$'\n'
    echo "== $line" >&2
done
printf '%-24s %6s %8s %8s %7s\n' "$sanitizer" tests reports skipped seconds
printf '%s' "$table"
exit $result
