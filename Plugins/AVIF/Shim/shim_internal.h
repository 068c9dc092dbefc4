// shim_internal.h - declarations shared by the files of the shim; not visible to Swift.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef AVIF_SHIM_INTERNAL_H
#define AVIF_SHIM_INTERNAL_H

#include "avif_shim.h"
#include "memory.h"

#include <avif/avif.h>

#include <new>

namespace avif_shim {

// Stores libavif's error message; `details` may be empty.
int32_t report(avifResult result, const char *details, avif_shim_error *error);
int32_t report(int32_t code, const char *message, avif_shim_error *error);

// Runs `body`, which calls libavif, with `memory` as its allocator. Sets `is_broken` if an exception passed through
// libavif: from then on every call fails.
template <class Body>
int32_t guarded(Memory &memory, bool &is_broken, avif_shim_error *error, Body body) noexcept
{
    const Use use(memory);
    memory.refused = 0;
    memory.is_stopped = false;
    int32_t code = avif_shim_memory;
    try {
        if (!is_broken) code = body();
    } catch (...) {
        // libavif and the shim throw only std::bad_alloc.
        is_broken = true;
    }
    if (memory.is_stopped) return report(avif_shim_stopped, "the caller stopped the decoder", error);
    if (code != avif_shim_ok && memory.refused) {
        error->allowed = memory.allowed;
        error->requested = memory.refused;
        return report(avif_shim_memory_limit, "libavif needs too much memory", error);
    }
    return code == avif_shim_memory ? report(code, "there is not enough memory", error) : code;
}

inline const avifImage &image_of(const avif_shim_planes *planes) { return *reinterpret_cast<const avifImage *>(planes); }

// Whether `convert` can turn the samples of `image` into RGB (rows.cpp).
bool knows_colors(const avifImage &image);

// Converts rows first ..< end over the full width into `out`, without rotation; `stride` may be negative. False if
// memory is short.
bool convert_rows(const avifImage &image, uint32_t first, uint32_t end, unsigned channels, unsigned bits, uint8_t *out,
                  int64_t stride);

}
#endif
