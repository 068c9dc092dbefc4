// colors.cpp - 8-bit YCbCr to RGB with libyuv, which interpolates colors between stored samples.
//
// SPDX-License-Identifier: Apache-2.0
#include "shim_internal.h"

#include <libyuv.h>

#include <algorithm>

namespace {

// libyuv writes B, G, R; with Cb and Cr exchanged and the mirrored matrix ("Yvu") the same code writes R, G, B.
const libyuv::YuvConstants *constants(const ShimColors &colors)
{
    uint32_t matrix = colors.matrix;
    // Derived from the primaries (ITU-T H.273 table 4, 12): the primaries of the three matrices below give these
    // matrices.
    if (matrix == 12) {
        switch (colors.primaries) {
        case 1: case 2: matrix = 1; break;
        case 5: case 6: matrix = 6; break;
        case 9: matrix = 9; break;
        }
    }
    switch (matrix) {
    case 1: return colors.full_range ? &libyuv::kYvuF709Constants : &libyuv::kYvuH709Constants;
    case 2: case 5: case 6: return colors.full_range ? &libyuv::kYvuJPEGConstants : &libyuv::kYvuI601Constants;
    case 9: return colors.full_range ? &libyuv::kYvuV2020Constants : &libyuv::kYvu2020Constants;
    default: return nullptr;
    }
}

// Converts rows first ..< first + count to R, G, B; `first` is even. libyuv treats them as a whole image.
bool convert(const ShimYCbCr &from, int first, int count, const libyuv::YuvConstants *matrix, uint8_t *out, int stride)
{
    const uint8_t *y = from.planes[0] + ptrdiff_t(first) * from.strides[0];
    const uint8_t *cb = from.planes[1] + ptrdiff_t(first >> from.shift_y) * from.strides[1];
    const uint8_t *cr = from.planes[2] + ptrdiff_t(first >> from.shift_y) * from.strides[2];
    const int *strides = from.strides;
    if (!from.shift_x) {
        return libyuv::I444ToRGB24Matrix(y, strides[0], cr, strides[2], cb, strides[1], out, stride, matrix,
                                         from.width, count) == 0;
    }
    const auto filtered = from.shift_y ? libyuv::I420ToRGB24MatrixFilter : libyuv::I422ToRGB24MatrixFilter;
    return filtered(y, strides[0], cr, strides[2], cb, strides[1], out, stride, matrix, from.width, count,
                    libyuv::kFilterBilinear) == 0;
}

}

bool shim_knows_colors(const ShimColors &colors) { return constants(colors) != nullptr; }

bool shim_rgb_planes(const ShimYCbCr &from, const ShimColors &colors, uint8_t *const planes[3], const int strides[3])
{
    // As many rows as stay in the cache. In 4:2:0, rows 2n-1 and 2n share the same two rows of color. So an odd number
    // of rows from an even one on is complete except for the first row, which the strip before has converted.
    constexpr int step = 32;
    const int row_bytes = from.width * 3;
    std::unique_ptr<uint8_t[]> strip(new (std::nothrow) uint8_t[size_t(row_bytes) * (step + 1)]);
    const libyuv::YuvConstants *matrix = constants(colors);
    if (!strip || !matrix) return false;
    for (int first = 0;; first += step) {
        const int count = std::min(step + 1, from.height - first);
        if (!convert(from, first, count, matrix, strip.get(), row_bytes)) return false;
        const int made = first == 0 ? 0 : 1;
        const ptrdiff_t to = first + made;
        libyuv::SplitRGBPlane(strip.get() + size_t(made) * size_t(row_bytes), row_bytes,
                              planes[0] + to * strides[0], strides[0], planes[1] + to * strides[1], strides[1],
                              planes[2] + to * strides[2], strides[2], from.width, count - made);
        if (first + count == from.height) return true;
    }
}

void shim_merge_rgb_row(const uint8_t *red, const uint8_t *green, const uint8_t *blue, uint8_t *out, uint32_t width)
{
    libyuv::MergeRGBPlane(red, 0, green, 0, blue, 0, out, 0, int(width), 1);
}
