/* row_blur.c - calls the blur behind a handle. SPDX-License-Identifier: Apache-2.0 */
#include "blur_calls.h"

uint32_t pixel_blur_take(pixel_blur *blur, const void *source, uint32_t count, void *target, uint64_t stride) {
    return blur->take(blur, source, count, target, stride);
}

void pixel_blur_finish(pixel_blur *blur, void *target) { blur->finish(blur, target); }

void pixel_blur_free(pixel_blur *blur) {
    if (blur) blur->release(blur);
}
