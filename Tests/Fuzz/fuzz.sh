#!/bin/bash
# Searches for inputs that crash or hang the readers of untrusted bytes, guided by the branches they reach.
#
#   Tests/Fuzz/fuzz.sh [SECONDS-FOR-EACH-TARGET] [TARGET…]
#
# Builds everything once more, with libFuzzer and the address sanitizer, into .build/fuzz. Keeps inputs that reach new
# branches in .build/fuzz/corpus, and writes findings to .build/fuzz/found. A finding becomes a file under
# Fixtures/found/TARGET together with its fix.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-60}
shift || true

clang=$(dirname "$(readlink -f "$(command -v swiftc)")")/../lib/clang
archive=$(find -L "$clang" -name "libclang_rt.fuzzer_no_main-$(uname -m).a" | head -n 1)
[ -n "$archive" ] || { echo "fuzz.sh: this toolchain has no libFuzzer" >&2; exit 69; }
export CODERHOST_FUZZER=$archive
build=.build/fuzz
plugins=$(sed -n 's/.*"org\.coderhost\.\([a-z0-9]*\)-plugin".*/coder-\1/p' Plugins/*/Plugin/manifest.json)
for product in coderhost-fuzz $plugins; do
    swift build -c release --build-path $build --product $product --sanitize=address -Xswiftc -DFUZZER \
        -Xswiftc -Xfrontend -Xswiftc -sanitize=fuzzer -Xcc -fsanitize=fuzzer-no-link >"$build.log" 2>&1 \
        || { cat "$build.log" >&2; exit 1; }
done
tool=$(realpath $build/release/coderhost-fuzz)

# No backtraces: the backtracer would start a debugger for each report. No leak checks: the runtime keeps some memory.
export SWIFT_BACKTRACE=enable=no
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:detect_odr_violation=0
mkdir -p $build/found
status=0
for target in ${*:-$("$tool" list)}; do
    mkdir -p $build/corpus/$target
    [ -n "$(ls $build/corpus/$target)" ] || "$tool" seeds "$target" $build/corpus/$target
    nice -n 10 "$tool" libfuzzer "$target" -max_total_time="$seconds" -timeout=30 -rss_limit_mb=2048 -max_len=65536 \
        -artifact_prefix="$build/found/$target-" -print_final_stats=1 $build/corpus/$target >"$build/$target.log" 2>&1 \
        || { status=1; echo "$target: found something, see $build/$target.log"; grep -m 3 -E 'ERROR|Fatal|SUMMARY' "$build/$target.log" || true; }
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$target.log")
    echo "$target	${runs:-?} inputs	$(sed -n 's/.*cov: \([0-9]*\).*/\1/p' "$build/$target.log" | tail -n 1) branches"
done
exit $status
