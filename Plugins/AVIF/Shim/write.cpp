// write.cpp - planes to pixels: rows.cpp converts them; this file rotates and crops them while writing.
//
// Several threads may convert parts of the same planes at a time.
//
// SPDX-License-Identifier: Apache-2.0
#include "shim_internal.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

using namespace avif_shim;

namespace {

// Writes rows x columns of a strip to the target: `across` and `down` are the steps of one pixel in the target.
template <unsigned size>
void scatter(const uint8_t *strip, int64_t strip_stride, uint32_t columns, uint32_t rows, uint8_t *out, int64_t across,
             int64_t down)
{
    for (uint32_t x = 0; x < columns; x++) {
        const uint8_t *from = strip + int64_t(x) * size;
        uint8_t *to = out + int64_t(x) * across;
        for (uint32_t y = 0; y < rows; y++, from += strip_stride, to += down) std::memcpy(to, from, size);
    }
}

using Scatter = void (*)(const uint8_t *, int64_t, uint32_t, uint32_t, uint8_t *, int64_t, int64_t);

Scatter scatter_of(unsigned size)
{
    switch (size) {
    case 1: return scatter<1>;
    case 2: return scatter<2>;
    case 3: return scatter<3>;
    case 4: return scatter<4>;
    case 6: return scatter<6>;
    default: return scatter<8>;
    }
}

// The target of the first pixel of the visible part, and the steps from there.
struct Walk {
    int64_t start, across, down;

    Walk(const avif_shim_layout &layout, int64_t pixel, int64_t stride)
    {
        const bool is_turned = layout.turns & 1;
        const int64_t width = is_turned ? layout.height : layout.width;
        const int64_t height = is_turned ? layout.width : layout.height;
        // The target coordinates of (0, 0), and the directions of x and y.
        int64_t x = 0, y = 0, ax = 1, ay = 0, dx = 0, dy = 1;
        switch (layout.turns & 3) {
        case 1: x = 0, y = height - 1, ax = 0, ay = -1, dx = 1, dy = 0; break;
        case 2: x = width - 1, y = height - 1, ax = -1, ay = 0, dx = 0, dy = -1; break;
        case 3: x = width - 1, y = 0, ax = 0, ay = 1, dx = -1, dy = 0; break;
        }
        if (layout.mirror == 1) y = height - 1 - y, ay = -ay, dy = -dy;
        if (layout.mirror == 2) x = width - 1 - x, ax = -ax, dx = -dx;
        start = y * stride + x * pixel;
        across = ay * stride + ax * pixel;
        down = dy * stride + dx * pixel;
    }
};

}

uint8_t avif_shim_knows_colors(const avif_shim_planes *planes) { return knows_colors(image_of(planes)); }

int32_t avif_shim_convert(const avif_shim_planes *planes, uint32_t first, uint32_t end, const avif_shim_layout *layout,
                          uint8_t *pixels, uint64_t stride)
{
    const avifImage &image = image_of(planes);
    if (first >= end || end > image.height || (first && first % 2 == 0)) return avif_shim_corrupt;
    if (end != image.height && end % 2 == 0) return avif_shim_corrupt;
    if (layout->width > image.width || layout->x > image.width - layout->width) return avif_shim_corrupt;
    if (layout->height > image.height || layout->y > image.height - layout->height) return avif_shim_corrupt;
    if (layout->channels < 3 && image.yuvFormat != AVIF_PIXEL_FORMAT_YUV400) return avif_shim_corrupt;
    static const unsigned counts[] = {0, 1, 2, 3, 4, 4};
    const unsigned size = counts[layout->channels] * layout->bits / 8;
    const Walk walk(*layout, size, int64_t(stride));

    const bool is_whole = layout->width == image.width && layout->height == image.height;
    if (is_whole && walk.across == size) {
        uint8_t *row = pixels + walk.start + int64_t(first) * walk.down;
        return convert_rows(image, first, end, layout->channels, layout->bits, row, walk.down) ? avif_shim_ok
                                                                                              : avif_shim_memory;
    }
    const uint32_t top = std::max(first, layout->y), bottom = std::min(end, layout->y + layout->height);
    if (top >= bottom) return avif_shim_ok;
    const int64_t strip_stride = int64_t(image.width) * size;
    std::unique_ptr<uint8_t[]> strip(new (std::nothrow) uint8_t[uint64_t(strip_stride) * (end - first)]);
    if (!strip) return avif_shim_memory;
    if (!convert_rows(image, first, end, layout->channels, layout->bits, strip.get(), strip_stride)) {
        return avif_shim_memory;
    }
    scatter_of(size)(strip.get() + int64_t(top - first) * strip_stride + int64_t(layout->x) * size, strip_stride,
                     layout->width, bottom - top, pixels + walk.start + int64_t(top - layout->y) * walk.down,
                     walk.across, walk.down);
    return avif_shim_ok;
}
