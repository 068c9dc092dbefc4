#!/bin/bash
# Builds the attacking plugin, the judge and deny-calls into a folder.
#
#   Tests/Hostile/build.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$1
compile() { cc -std=c11 -O1 -Wall -Wextra -Werror "$@"; }
compile -shared -fPIC -fvisibility=hidden -pthread Tests/Hostile/attacks/*.c -ISources/CCoderPlugin/include \
    -ISources/CIsolationWire/include -o "$out/libcoder-hostile.so"
compile Tests/Hostile/judge/*.c -o "$out/judge"
compile Tests/ThirdParty/isolation/deny-calls.c -o "$out/deny-calls"
