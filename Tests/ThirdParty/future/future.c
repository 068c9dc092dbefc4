/*
 * future.c - the QOI coder as a later minor would build it: its structs are longer than the host's, its manifest has
 * keys and a role that are undefined today, and it requests an extension that no current host has.
 *
 * A host must run it nevertheless, because its `minor_needed` is 0.
 *
 *     ../future/headers.sh <include folder of today> later && cc -shared -fPIC -Ilater future.c -o libcoder-qoi.so
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define QOI_MORE_KEYS "\"galaxy\": { \"arms\": [4, 4.5, null] }, \"optional\": [\"vendor.unknown/3\"], "
#define QOI_MORE_ROLES ", \"hologram\""
#define QOI_MORE_ROLE_BITS ((uint32_t)1 << 15)

#include <coder_plugin.h>

_Static_assert(CPI_TARGET_MINOR == 7, "built against the header of today");

static const cpi_plugin *qoi_entry(const cpi_host *host, cpi_error *error);
#define cpi_entry_1 qoi_entry
#include "../qoi/qoi.c"
#undef cpi_entry_1

const cpi_plugin *cpi_entry_1(const cpi_host *host, cpi_error *error) {
    if (host->get && host->get(host->ctx, "vendor.unknown/3")) {
        cpi_session_fail(NULL, error, CPI_INTERNAL, 0, "the host answers an extension it cannot know");
        return NULL;
    }
    return qoi_entry(host, error);
}
