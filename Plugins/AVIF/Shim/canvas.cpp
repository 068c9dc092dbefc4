// canvas.cpp - joins the tiles of a grid into planes.
//
// libavif 0.11 decodes one tile after another and keeps all of them. Here each tile has its own decoder, on any thread.
// The canvas has the samples that libavif would join, so colors are interpolated across the seams.
//
// SPDX-License-Identifier: Apache-2.0
#include "shim_internal.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>

namespace avif_shim {
namespace {

struct Free {
    void operator()(uint8_t *bytes) const { std::free(bytes); }
};

// The properties that all tiles of a grid share.
struct Kind {
    uint32_t width, height, depth;
    avifPixelFormat format;
    avifRange range;
    avifColorPrimaries primaries;
    avifTransferCharacteristics transfer;
    avifMatrixCoefficients matrix;

    // Alpha uses only the luma: the rest may differ.
    Kind(const avifImage &image, bool is_alpha)
        : width(image.width), height(image.height), depth(image.depth), format(AVIF_PIXEL_FORMAT_NONE),
          range(AVIF_RANGE_FULL), primaries(0), transfer(0), matrix(0)
    {
        if (is_alpha) return;
        format = image.yuvFormat;
        range = image.yuvRange;
        primaries = image.colorPrimaries;
        transfer = image.transferCharacteristics;
        matrix = image.matrixCoefficients;
    }

    bool operator==(const Kind &other) const
    {
        return width == other.width && height == other.height && depth == other.depth && format == other.format &&
               range == other.range && primaries == other.primaries && transfer == other.transfer &&
               matrix == other.matrix;
    }
};

bool halves_columns(avifPixelFormat format)
{
    return format == AVIF_PIXEL_FORMAT_YUV420 || format == AVIF_PIXEL_FORMAT_YUV422;
}

// A part of a plane, in samples.
struct Part {
    uint32_t x, y, width, height;
};

// Converts a sample of the limited range to the full range, rounded.
template <class Sample> void expand(Sample *samples, uint32_t count, uint32_t depth)
{
    const int32_t low = 16 << (depth - 8), span = 219 << (depth - 8), most = (1 << depth) - 1;
    for (uint32_t i = 0; i < count; i++) {
        const int32_t value = ((int32_t(samples[i]) - low) * most + span / 2) / span;
        samples[i] = Sample(std::clamp(value, 0, most));
    }
}

}
}

using namespace avif_shim;

struct avif_shim_canvas {
    avifImage image = {};
    uint32_t x = 0, y = 0;
    std::unique_ptr<uint8_t, Free> planes[4];
    // The properties of the first color tile and of the first alpha tile.
    std::mutex mutex;
    std::unique_ptr<Kind> kinds[2];

    bool allocate(unsigned plane, uint32_t width, uint32_t height, uint8_t **start, uint32_t *stride)
    {
        // 64-byte aligned rows, as in dav1d.
        const uint64_t bytes = (uint64_t(width) * (image.depth > 8 ? 2 : 1) + 63) & ~uint64_t(63);
        planes[plane].reset(static_cast<uint8_t *>(std::calloc(height, bytes)));
        *start = planes[plane].get();
        *stride = uint32_t(bytes);
        return *start && bytes <= INT32_MAX;
    }

    bool allocate(bool has_alpha)
    {
        if (!allocate(0, image.width, image.height, &image.yuvPlanes[0], &image.yuvRowBytes[0])) return false;
        if (has_alpha && !allocate(3, image.width, image.height, &image.alphaPlane, &image.alphaRowBytes)) return false;
        if (image.yuvFormat == AVIF_PIXEL_FORMAT_YUV400) return true;
        const uint32_t width = halves_columns(image.yuvFormat) ? (image.width + 1) / 2 : image.width;
        const uint32_t height = image.yuvFormat == AVIF_PIXEL_FORMAT_YUV420 ? (image.height + 1) / 2 : image.height;
        return allocate(1, width, height, &image.yuvPlanes[1], &image.yuvRowBytes[1]) &&
               allocate(2, width, height, &image.yuvPlanes[2], &image.yuvRowBytes[2]);
    }

    bool accepts(const avifImage &tile, bool is_alpha)
    {
        if (tile.depth != image.depth || (!is_alpha && tile.yuvFormat != image.yuvFormat)) return false;
        const std::lock_guard<std::mutex> lock(mutex);
        std::unique_ptr<Kind> &kind = kinds[is_alpha];
        const Kind own(tile, is_alpha);
        if (!kind) kind = std::make_unique<Kind>(own);
        return *kind == own;
    }
};

int32_t avif_shim_canvas_new(const avif_shim_decoder *model, uint32_t x, uint32_t y, uint32_t width, uint32_t height,
                             uint8_t has_alpha, avif_shim_canvas **canvas)
{
    const avifImage &whole = image_of(avif_shim_decoded(model));
    if (width > whole.width || x > whole.width - width || height > whole.height || y > whole.height - height) {
        return avif_shim_corrupt;
    }
    if ((halves_columns(whole.yuvFormat) && x % 2) || (whole.yuvFormat == AVIF_PIXEL_FORMAT_YUV420 && y % 2)) {
        return avif_shim_corrupt;
    }
    std::unique_ptr<avif_shim_canvas> made(new (std::nothrow) avif_shim_canvas);
    if (!made) return avif_shim_memory;
    avifImage &image = made->image;
    made->x = x;
    made->y = y;
    image.width = width;
    image.height = height;
    image.depth = whole.depth;
    image.yuvFormat = whole.yuvFormat;
    image.yuvRange = whole.yuvRange;
    image.alphaPremultiplied = whole.alphaPremultiplied;
    image.colorPrimaries = whole.colorPrimaries;
    image.transferCharacteristics = whole.transferCharacteristics;
    image.matrixCoefficients = whole.matrixCoefficients;
    if (!made->allocate(has_alpha != 0)) return avif_shim_memory;
    *canvas = made.release();
    return avif_shim_ok;
}

int32_t avif_shim_canvas_put(avif_shim_canvas *canvas, const avif_shim_decoder *decoder, uint32_t x, uint32_t y,
                             uint8_t is_alpha)
{
    const avifImage &tile = image_of(avif_shim_decoded(decoder)), &image = canvas->image;
    try {
        if (!canvas->accepts(tile, is_alpha != 0)) return avif_shim_mismatch;
    } catch (...) {
        return avif_shim_memory;
    }
    // The intersection, in samples of the whole image.
    const uint64_t left = std::max(x, canvas->x), top = std::max(y, canvas->y);
    const uint64_t right = std::min(uint64_t(x) + tile.width, uint64_t(canvas->x) + image.width);
    const uint64_t bottom = std::min(uint64_t(y) + tile.height, uint64_t(canvas->y) + image.height);
    if (left >= right || top >= bottom) return avif_shim_ok;
    const uint32_t size = image.depth > 8 ? 2 : 1;
    const auto copy = [&](const uint8_t *from, uint32_t from_stride, uint8_t *to, uint32_t to_stride, bool halves_x,
                          bool halves_y) {
        const uint64_t sx = halves_x, sy = halves_y;
        const uint64_t width = ((right - left + sx) >> sx) * size, height = (bottom - top + sy) >> sy;
        from += ((left - x) >> sx) * size + ((top - y) >> sy) * from_stride;
        to += ((left - canvas->x) >> sx) * size + ((top - canvas->y) >> sy) * to_stride;
        for (uint64_t row = 0; row < height; row++, from += from_stride, to += to_stride) {
            std::memcpy(to, from, width);
            if (!is_alpha || tile.yuvRange == AVIF_RANGE_FULL) continue;
            if (size == 1) expand(to, uint32_t(width), image.depth);
            else expand(reinterpret_cast<uint16_t *>(to), uint32_t(width / 2), image.depth);
        }
    };
    if (is_alpha) {
        if (!image.alphaPlane) return avif_shim_mismatch;
        copy(tile.yuvPlanes[0], tile.yuvRowBytes[0], image.alphaPlane, image.alphaRowBytes, false, false);
        return avif_shim_ok;
    }
    copy(tile.yuvPlanes[0], tile.yuvRowBytes[0], image.yuvPlanes[0], image.yuvRowBytes[0], false, false);
    if (image.yuvFormat == AVIF_PIXEL_FORMAT_YUV400) return avif_shim_ok;
    const bool halves_x = halves_columns(image.yuvFormat), halves_y = image.yuvFormat == AVIF_PIXEL_FORMAT_YUV420;
    for (int plane = 1; plane < 3; plane++) {
        copy(tile.yuvPlanes[plane], tile.yuvRowBytes[plane], image.yuvPlanes[plane], image.yuvRowBytes[plane], halves_x,
             halves_y);
    }
    return avif_shim_ok;
}

const avif_shim_planes *avif_shim_canvas_planes(const avif_shim_canvas *canvas)
{
    return reinterpret_cast<const avif_shim_planes *>(&canvas->image);
}

void avif_shim_canvas_free(avif_shim_canvas *canvas) { delete canvas; }
