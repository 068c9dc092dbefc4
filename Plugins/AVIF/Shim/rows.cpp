// rows.cpp - converts samples to pixels.
//
// libyuv converts 8-bit samples of the usual matrices and interpolates colors between stored samples; other decoders
// produce the same bytes. This file computes everything else (more bits, other matrices, gray) from the equations of
// ITU-T H.273, interpolates colors the same way, and rounds once.
//
// SPDX-License-Identifier: Apache-2.0
#include "shim_internal.h"

#include <libyuv.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <new>

namespace avif_shim {
namespace {

// Returns the matrix in effect: for a matrix derived from the primaries (12), the named matrix of the primaries, if
// any.
unsigned matrix_of(const avifImage &image)
{
    if (image.matrixCoefficients != 12) return image.matrixCoefficients;
    switch (image.colorPrimaries) {
    case 1: case 2: return 1;
    case 4: return 4;
    case 5: case 6: return 6;
    case 7: return 7;
    case 9: return 9;
    default: return 12;
    }
}

struct Constants {
    const libyuv::YuvConstants *rgb = nullptr;  // with Cb and Cr exchanged: R first in memory
    const libyuv::YuvConstants *bgr = nullptr;
};

Constants constants(const avifImage &image)
{
    const bool full = image.yuvRange == AVIF_RANGE_FULL;
    switch (matrix_of(image)) {
    case 1:
        if (full) return {&libyuv::kYvuF709Constants, &libyuv::kYuvF709Constants};
        return {&libyuv::kYvuH709Constants, &libyuv::kYuvH709Constants};
    case 2: case 5: case 6:
        if (full) return {&libyuv::kYvuJPEGConstants, &libyuv::kYuvJPEGConstants};
        return {&libyuv::kYvuI601Constants, &libyuv::kYuvI601Constants};
    case 9:
        if (full) return {&libyuv::kYvuV2020Constants, &libyuv::kYuvV2020Constants};
        return {&libyuv::kYvu2020Constants, &libyuv::kYuv2020Constants};
    default: return {};
    }
}

// The weights of red and blue in the luma (ITU-T H.273 table 4); false for a matrix that is not made of them.
bool weights(const avifImage &image, double *red, double *blue)
{
    switch (matrix_of(image)) {
    case 1: *red = 0.2126, *blue = 0.0722; return true;
    case 4: *red = 0.30, *blue = 0.11; return true;
    case 2: case 5: case 6: *red = 0.299, *blue = 0.114; return true;
    case 7: *red = 0.212, *blue = 0.087; return true;
    case 9: *red = 0.2627, *blue = 0.0593; return true;
    case 12: break;
    default: return false;
    }
    // ITU-T H.273 section 8.3, equations 39 to 44: from the chromaticities of the primaries.
    float p[8];
    avifColorPrimariesGetValues(image.colorPrimaries, p);
    const double rx = p[0], ry = p[1], gx = p[2], gy = p[3], bx = p[4], by = p[5], wx = p[6], wy = p[7];
    const double rz = 1 - rx - ry, gz = 1 - gx - gy, bz = 1 - bx - by, wz = 1 - wx - wy;
    const double below = wy * (rx * (gy * bz - by * gz) + gx * (by * rz - ry * bz) + bx * (ry * gz - gy * rz));
    *red = ry * (wx * (gy * bz - by * gz) + wy * (bx * gz - gx * bz) + wz * (gx * by - bx * gy)) / below;
    *blue = by * (wx * (ry * gz - gy * rz) + wy * (gx * rz - rx * gz) + wz * (rx * gy - gx * ry)) / below;
    return std::isfinite(*red) && std::isfinite(*blue) && *red > 0 && *blue > 0 && *red + *blue < 1;
}

template <class Sample> const Sample *row(const uint8_t *plane, uint32_t stride, uint32_t y)
{
    return reinterpret_cast<const Sample *>(plane + uint64_t(y) * stride);
}

// MARK: libyuv

// Converts rows first ..< end; with 4:2:0, `first` is 0 or even and row `first` is only right for 0.
bool run_libyuv(const avifImage &image, uint32_t first, uint32_t end, unsigned channels, bool with_alpha, uint8_t *out,
                int stride)
{
    const Constants matrix = constants(image);
    const bool red_first = channels != 5;
    const libyuv::YuvConstants *c = red_first ? matrix.rgb : matrix.bgr;
    const int u = red_first ? AVIF_CHAN_V : AVIF_CHAN_U, v = red_first ? AVIF_CHAN_U : AVIF_CHAN_V;
    const bool is_420 = image.yuvFormat == AVIF_PIXEL_FORMAT_YUV420;
    const uint32_t color_row = is_420 ? first / 2 : first;
    const uint8_t *yp = row<uint8_t>(image.yuvPlanes[0], image.yuvRowBytes[0], first);
    const uint8_t *up = row<uint8_t>(image.yuvPlanes[u], image.yuvRowBytes[u], color_row);
    const uint8_t *vp = row<uint8_t>(image.yuvPlanes[v], image.yuvRowBytes[v], color_row);
    const int ys = int(image.yuvRowBytes[0]), us = int(image.yuvRowBytes[u]), vs = int(image.yuvRowBytes[v]);
    const int width = int(image.width), height = int(end - first);
    const auto filter = libyuv::kFilterBilinear;
    if (with_alpha) {
        const uint8_t *ap = row<uint8_t>(image.alphaPlane, image.alphaRowBytes, first);
        const int as = int(image.alphaRowBytes);
        switch (image.yuvFormat) {
        case AVIF_PIXEL_FORMAT_YUV444:
            return libyuv::I444AlphaToARGBMatrix(yp, ys, up, us, vp, vs, ap, as, out, stride, c, width, height, 0) == 0;
        case AVIF_PIXEL_FORMAT_YUV422:
            return libyuv::I422AlphaToARGBMatrixFilter(yp, ys, up, us, vp, vs, ap, as, out, stride, c, width, height, 0,
                                                       filter) == 0;
        default:
            return libyuv::I420AlphaToARGBMatrixFilter(yp, ys, up, us, vp, vs, ap, as, out, stride, c, width, height, 0,
                                                       filter) == 0;
        }
    }
    if (channels == 3) {
        switch (image.yuvFormat) {
        case AVIF_PIXEL_FORMAT_YUV444:
            return libyuv::I444ToRGB24Matrix(yp, ys, up, us, vp, vs, out, stride, c, width, height) == 0;
        case AVIF_PIXEL_FORMAT_YUV422:
            return libyuv::I422ToRGB24MatrixFilter(yp, ys, up, us, vp, vs, out, stride, c, width, height, filter) == 0;
        default:
            return libyuv::I420ToRGB24MatrixFilter(yp, ys, up, us, vp, vs, out, stride, c, width, height, filter) == 0;
        }
    }
    switch (image.yuvFormat) {
    case AVIF_PIXEL_FORMAT_YUV444:
        return libyuv::I444ToARGBMatrix(yp, ys, up, us, vp, vs, out, stride, c, width, height) == 0;
    case AVIF_PIXEL_FORMAT_YUV422:
        return libyuv::I422ToARGBMatrixFilter(yp, ys, up, us, vp, vs, out, stride, c, width, height, filter) == 0;
    default:
        return libyuv::I420ToARGBMatrixFilter(yp, ys, up, us, vp, vs, out, stride, c, width, height, filter) == 0;
    }
}

bool convert_with_libyuv(const avifImage &image, uint32_t first, uint32_t end, unsigned channels, uint8_t *out,
                         int64_t stride)
{
    const bool with_alpha = channels > 3 && image.alphaPlane;
    if (first == 0 || image.yuvFormat != AVIF_PIXEL_FORMAT_YUV420) {
        return run_libyuv(image, first, end, channels, with_alpha, out, int(stride));
    }
    // An odd row and the even row behind it use the same two rows of colors. libyuv pairs them if it begins at the even
    // row before. It then treats that row as the first of an image and computes it wrong. So all rows of the strip
    // except the first are written that way; the first two come from a second run over three rows elsewhere. No row
    // outside of the strip is written: another thread may be writing there.
    if (end - first > 2 && !run_libyuv(image, first + 1, end, channels, with_alpha, out + stride, int(stride))) {
        return false;
    }
    const uint32_t count = end - first < 2 ? end - first : 2;
    const size_t row = size_t(image.width) * (channels == 3 ? 3 : 4);
    std::unique_ptr<uint8_t[]> rows(new (std::nothrow) uint8_t[3 * row]);
    if (!rows || !run_libyuv(image, first - 1, first + count, channels, with_alpha, rows.get(), int(row))) return false;
    for (uint32_t y = 0; y < count; y++) std::memcpy(out + int64_t(y) * stride, rows.get() + (y + 1) * row, row);
    return true;
}

// MARK: the equations

// Rows of complete samples for the equations: luma, and colors times sixteen.
struct Lines {
    std::unique_ptr<float[]> memory;
    float *y, *cb, *cr;
    std::unique_ptr<int32_t[]> column;
};

// Interpolates one row of colors, times sixteen: three parts of the nearest stored sample, one of the next.
template <class Sample>
void spread(const uint8_t *plane, uint32_t stride, uint32_t y, const avifImage &image, int32_t *column, float *out)
{
    const bool halves_x = image.yuvFormat != AVIF_PIXEL_FORMAT_YUV444;
    const bool halves_y = image.yuvFormat == AVIF_PIXEL_FORMAT_YUV420;
    const uint32_t columns = halves_x ? (image.width + 1) / 2 : image.width;
    const uint32_t rows = halves_y ? (image.height + 1) / 2 : image.height;
    const uint32_t near_row = halves_y ? y / 2 : y;
    uint32_t far_row = near_row;
    if (halves_y && y % 2 == 0 && near_row > 0) far_row--;
    if (halves_y && y % 2 == 1 && near_row + 1 < rows) far_row++;
    const Sample *near_samples = row<Sample>(plane, stride, near_row);
    const Sample *far_samples = row<Sample>(plane, stride, far_row);
    if (!halves_x) {
        for (uint32_t x = 0; x < columns; x++) out[x] = float(12 * near_samples[x] + 4 * far_samples[x]);
        return;
    }
    for (uint32_t x = 0; x < columns; x++) column[x] = 3 * near_samples[x] + far_samples[x];
    const uint32_t width = image.width;
    out[0] = float(4 * column[0]);
    for (uint32_t x = 1; x < columns; x++) {
        out[2 * x - 1] = float(3 * column[x - 1] + column[x]);
        out[2 * x] = float(column[x - 1] + 3 * column[x]);
    }
    if (width % 2 == 0) out[width - 1] = float(4 * column[columns - 1]);
}

template <class Out> inline Out rounded(float value)
{
    constexpr float most = float(Out(~Out(0)));
    value += 0.5f;
    value = value > 0 ? value : 0;
    value = value < most ? value : most;
    return Out(int32_t(value));
}

// The scale from samples to the full range of Out.
struct Scale {
    float luma_low, luma, color_low, color;

    Scale(const avifImage &image, double most)
    {
        const double unit = double(1u << (image.depth - 8)), all = double((1u << image.depth) - 1);
        const bool full = image.yuvRange == AVIF_RANGE_FULL;
        luma_low = full ? 0 : float(16 * unit);
        luma = float(most / (full ? all : 219 * unit));
        // The samples are scaled by sixteen.
        color_low = float(16 * 128 * unit);
        color = float(most / (full ? all : 224 * unit) / 16);
    }
};

template <class Out> struct Target {
    Out *red, *green, *blue;
    uint32_t step;
};

template <class Out>
void mix(const avifImage &image, const Lines &lines, const Scale &s, double kr, double kb, Target<Out> out)
{
    const float rv = float(2 * (1 - kr)), bu = float(2 * (1 - kb)), kg = float(1 - kr - kb);
    const float gu = float(-kb) * bu / kg, gv = float(-kr) * rv / kg;
    const float *y = lines.y, *cb = lines.cb, *cr = lines.cr;
    for (uint32_t x = 0; x < image.width; x++) {
        const float luma = (y[x] - s.luma_low) * s.luma;
        const float u = (cb[x] - s.color_low) * s.color, v = (cr[x] - s.color_low) * s.color;
        out.red[x * out.step] = rounded<Out>(luma + rv * v);
        out.green[x * out.step] = rounded<Out>(luma + gu * u + gv * v);
        out.blue[x * out.step] = rounded<Out>(luma + bu * u);
    }
}

// The planes are green, blue and red themselves (0) or green and color differences (8); H.273 equations 45 to 52.
template <class Out> void mix_named(const avifImage &image, const Lines &lines, const Scale &s, Target<Out> out)
{
    const bool is_identity = matrix_of(image) == 0;
    for (uint32_t x = 0; x < image.width; x++) {
        const float luma = (lines.y[x] - s.luma_low) * s.luma;
        float red, green, blue;
        if (is_identity) {
            green = luma;
            blue = (lines.cb[x] / 16 - s.luma_low) * s.luma;
            red = (lines.cr[x] / 16 - s.luma_low) * s.luma;
        } else {
            const float cg = (lines.cb[x] - s.color_low) * s.color, co = (lines.cr[x] - s.color_low) * s.color;
            green = luma + cg;
            blue = luma - cg - co;
            red = luma - cg + co;
        }
        out.red[x * out.step] = rounded<Out>(red);
        out.green[x * out.step] = rounded<Out>(green);
        out.blue[x * out.step] = rounded<Out>(blue);
    }
}

template <class Sample, class Out>
void alpha_row(const avifImage &image, uint32_t y, Out *out, uint32_t step)
{
    if (!image.alphaPlane) {
        for (uint32_t x = 0; x < image.width; x++) out[x * step] = Out(~Out(0));
        return;
    }
    const Sample *from = row<Sample>(image.alphaPlane, image.alphaRowBytes, y);
    const float scale = float(Out(~Out(0))) / float((1u << image.depth) - 1);
    for (uint32_t x = 0; x < image.width; x++) out[x * step] = rounded<Out>(float(from[x]) * scale);
}

template <class Sample, class Out>
bool convert_exactly(const avifImage &image, uint32_t first, uint32_t end, unsigned channels, uint8_t *bytes,
                     int64_t stride)
{
    Lines lines;
    lines.memory.reset(new (std::nothrow) float[size_t(image.width) * 3]);
    lines.column.reset(new (std::nothrow) int32_t[size_t(image.width)]);
    if (!lines.memory || !lines.column) return false;
    lines.y = lines.memory.get();
    lines.cb = lines.y + image.width;
    lines.cr = lines.cb + image.width;
    const Scale scale(image, double(Out(~Out(0))));
    const bool is_gray = image.yuvFormat == AVIF_PIXEL_FORMAT_YUV400;
    double red = 0, blue = 0;
    const bool has_weights = weights(image, &red, &blue);
    const uint32_t step = channels == 1 ? 1 : channels == 2 ? 2 : channels == 3 ? 3 : 4;
    for (uint32_t y = first; y < end; y++) {
        Out *out = reinterpret_cast<Out *>(bytes + int64_t(y - first) * stride);
        const Sample *luma = row<Sample>(image.yuvPlanes[0], image.yuvRowBytes[0], y);
        if (is_gray) {
            const bool repeats = channels > 2;
            for (uint32_t x = 0; x < image.width; x++) {
                const Out value = rounded<Out>((float(luma[x]) - scale.luma_low) * scale.luma);
                out[x * step] = value;
                if (repeats) out[x * step + 1] = out[x * step + 2] = value;
            }
        } else {
            for (uint32_t x = 0; x < image.width; x++) lines.y[x] = float(luma[x]);
            int32_t *column = lines.column.get();
            spread<Sample>(image.yuvPlanes[1], image.yuvRowBytes[1], y, image, column, lines.cb);
            spread<Sample>(image.yuvPlanes[2], image.yuvRowBytes[2], y, image, column, lines.cr);
            const bool is_bgr = channels == 5;
            const Target<Out> target = {out + (is_bgr ? 2 : 0), out + 1, out + (is_bgr ? 0 : 2), step};
            if (has_weights) mix<Out>(image, lines, scale, red, blue, target);
            else mix_named<Out>(image, lines, scale, target);
        }
        if (channels == 2 || channels > 3) alpha_row<Sample, Out>(image, y, out + step - 1, step);
    }
    return true;
}

// Divides colors by alpha, rounded.
template <class Out> void unpremultiply(Out *out, uint32_t width, uint32_t step)
{
    const uint64_t most = Out(~Out(0));
    for (uint32_t x = 0; x < width; x++, out += step) {
        const uint64_t alpha = out[step - 1];
        if (alpha == most) continue;
        for (uint32_t c = 0; c + 1 < step; c++) {
            const uint64_t value = alpha ? (out[c] * most + alpha / 2) / alpha : 0;
            out[c] = Out(value < most ? value : most);
        }
    }
}

bool suits_libyuv(const avifImage &image, unsigned channels, unsigned bits)
{
    return image.depth == 8 && bits == 8 && channels > 2 && image.yuvFormat != AVIF_PIXEL_FORMAT_YUV400 &&
           constants(image).rgb;
}

}

bool knows_colors(const avifImage &image)
{
    if (image.yuvFormat == AVIF_PIXEL_FORMAT_YUV400) return true;
    double red, blue;
    const unsigned matrix = matrix_of(image);
    return weights(image, &red, &blue) || matrix == 0 || matrix == 8;
}

bool convert_rows(const avifImage &image, uint32_t first, uint32_t end, unsigned channels, unsigned bits, uint8_t *out,
                  int64_t stride)
{
    const bool is_wide = image.depth > 8;
    bool done;
    if (suits_libyuv(image, channels, bits)) done = convert_with_libyuv(image, first, end, channels, out, stride);
    else if (is_wide && bits == 16) done = convert_exactly<uint16_t, uint16_t>(image, first, end, channels, out, stride);
    else if (is_wide) done = convert_exactly<uint16_t, uint8_t>(image, first, end, channels, out, stride);
    else if (bits == 16) done = convert_exactly<uint8_t, uint16_t>(image, first, end, channels, out, stride);
    else done = convert_exactly<uint8_t, uint8_t>(image, first, end, channels, out, stride);
    if (!done) return false;
    if (!image.alphaPremultiplied || !image.alphaPlane || channels == 1 || channels == 3) return true;
    const uint32_t step = channels == 2 ? 2 : 4;
    for (uint32_t y = first; y < end; y++) {
        uint8_t *row = out + int64_t(y - first) * stride;
        if (bits == 8) unpremultiply<uint8_t>(row, image.width, step);
        else unpremultiply<uint16_t>(reinterpret_cast<uint16_t *>(row), image.width, step);
    }
    return true;
}

}
