// hevc_planes.cpp - the planes that libde265 decodes into, gray before the first slice; a check for gray afterwards.
//
// SPDX-License-Identifier: Apache-2.0
#include "hevc_planes.h"

#include <libheif/heif_plugin.h>

#include <algorithm>
#include <cstdlib>

namespace hevc {
namespace {

const char *const uncovered = "the HEVC slices do not cover the image";

// The gray that marks "not written": an invisible pattern of two neighboring values that no encoder produces. A coding
// tree block is at least 16 x 16 (Rec. ITU-T H.265 section 7.4.3.2.1), so a missing block leaves a whole tile of it.
struct GrayPattern {
    static constexpr int side = 16;
    uint16_t rows[side];

    GrayPattern()
    {
        uint32_t state = 0x2545F491;
        for (uint16_t &row : rows) {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            row = uint16_t(state >> 8);
        }
    }

    // One row of one tile, ready to be copied or compared.
    template <class Sample> void fill(int y, int depth, Sample *out) const
    {
        const int middle = 1 << (depth - 1);
        for (int x = 0; x < side; x++) out[x] = Sample(middle + (rows[y % side] >> x & 1));
    }
};
const GrayPattern gray_pattern;

struct Plane {
    uint8_t *start = nullptr;
    size_t stride = 0;
    int width = 0, height = 0, depth = 8;
    // The start of the visible window.
    int left = 0, top = 0;

    int bytes() const { return depth > 8 ? 2 : 1; }
};

// The image that libde265 works on.
struct Planes {
    Plane planes[3];

    ~Planes()
    {
        for (Plane &plane : planes) std::free(plane.start);
    }
};

template <class Sample> void fill(const Plane &plane)
{
    for (int y = 0; y < plane.height; y++) {
        Sample tile[GrayPattern::side];
        gray_pattern.fill(y, plane.depth, tile);
        uint8_t *row = plane.start + size_t(y) * plane.stride;
        for (size_t at = 0; at < plane.stride; at += sizeof tile) std::memcpy(row + at, tile, sizeof tile);
    }
}

// Whether slices wrote every tile. Deblocking changes three samples beyond the edge of a block, so this checks the
// center.
template <class Sample> bool is_covered(const Plane &plane)
{
    constexpr int margin = 4;
    Sample tiles[GrayPattern::side][GrayPattern::side];
    for (int y = 0; y < GrayPattern::side; y++) gray_pattern.fill(y, plane.depth, tiles[y]);
    for (int top = 0; top + margin < plane.height; top += GrayPattern::side) {
        const int end = std::min(GrayPattern::side - margin, plane.height - top);
        for (int left = 0; left + margin < plane.width; left += GrayPattern::side) {
            const size_t count = size_t(std::min(GrayPattern::side - 2 * margin, plane.width - left - margin));
            int y = margin;
            while (y < end) {
                const uint8_t *row = plane.start + size_t(top + y) * plane.stride;
                const uint8_t *at = row + size_t(left + margin) * sizeof(Sample);
                if (std::memcmp(at, &tiles[y][margin], count * sizeof(Sample)) != 0) break;
                y++;
            }
            if (y == end) return false;
        }
    }
    return true;
}

heif_error copy(const de265_image *decoded, const Planes &planes, heif_image *image, int count)
{
    static const heif_channel channels[] = {heif_channel_Y, heif_channel_Cb, heif_channel_Cr};
    const int depth = de265_get_bits_per_pixel(decoded, 0);
    for (int i = 0; i < count; i++) {
        const int width = de265_get_image_width(decoded, i), height = de265_get_image_height(decoded, i);
        if (de265_get_bits_per_pixel(decoded, i) != depth) {
            return failure(heif_error_Unsupported_feature, heif_suberror_Unsupported_color_conversion,
                           "luma and color have different bit depths");
        }
        const Plane &plane = planes.planes[i];
        // libde265 1.0.11 does not check whether the window lies inside. For more than 8 bits it misplaces the window.
        if (width <= 0 || height <= 0 || plane.left < 0 || plane.top < 0 || width > plane.width - plane.left ||
            height > plane.height - plane.top) {
            return failure(heif_error_Decoder_plugin_error, heif_suberror_Invalid_image_size,
                           "the window of the stream is not inside its image");
        }
        heif_error result = heif_image_add_plane(image, channels[i], width, height, depth);
        if (result.code) return result;
        int stride = 0;
        uint8_t *to = heif_image_get_plane(image, channels[i], &stride);
        const size_t sample = size_t(plane.bytes());
        const uint8_t *from = plane.start + size_t(plane.top) * plane.stride + size_t(plane.left) * sample;
        for (int y = 0; y < height; y++) {
            std::memcpy(to + size_t(y) * size_t(stride), from + size_t(y) * plane.stride, size_t(width) * sample);
        }
    }
    return success();
}

}

int take_planes(de265_decoder_context *context, de265_image_spec *spec, de265_image *image, void *user)
{
    // Otherwise libde265 uses planes of its own for an image that its last filter will change. It requests the planes
    // before it checks whether that filter runs.
    de265_set_parameter_bool(context, DE265_DECODER_PARAM_DISABLE_SAO, 0);

    const auto self = static_cast<Decoder *>(user);
    const uint64_t pixels = uint64_t(spec->width) * uint64_t(spec->height);
    if (pixels > self->max_pixels) {
        self->refused_pixels = pixels;
        return 0;
    }
    std::unique_ptr<Planes> made(new (std::nothrow) Planes);
    if (!made) return 0;
    const bool is_gray = spec->format == de265_image_format_mono8;
    const int shift_x = spec->format == de265_image_format_YUV444P8 ? 0 : 1;
    const int shift_y = spec->format == de265_image_format_YUV420P8 ? 1 : 0;
    for (int i = 0; i < (is_gray ? 1 : 3); i++) {
        Plane &plane = made->planes[i];
        plane.depth = de265_get_bits_per_pixel(image, i);
        plane.width = i > 0 ? (spec->width + shift_x) >> shift_x : spec->width;
        plane.height = i > 0 ? (spec->height + shift_y) >> shift_y : spec->height;
        plane.left = i > 0 ? spec->crop_left >> shift_x : spec->crop_left;
        plane.top = i > 0 ? spec->crop_top >> shift_y : spec->crop_top;
        plane.stride = (size_t(plane.width) * size_t(plane.bytes()) + 63) / 64 * 64;
        // libde265's vector code reads up to 16 bytes behind the last row.
        const size_t size = plane.stride * size_t(plane.height) + 64;
        plane.start = static_cast<uint8_t *>(std::aligned_alloc(64, size));
        if (!plane.start) return 0;
        if (i == 0) plane.bytes() > 1 ? fill<uint16_t>(plane) : fill<uint8_t>(plane);
        else if (plane.bytes() == 1) std::memset(plane.start, 1 << (plane.depth - 1), size);
        else std::fill_n(reinterpret_cast<uint16_t *>(plane.start), size / 2, uint16_t(1 << (plane.depth - 1)));
        if (i == 0) std::memset(plane.start + size - 64, 0, 64);
    }
    for (int i = 0; i < 3; i++) {
        const Plane &plane = made->planes[i];
        de265_set_image_plane(image, i, plane.start, int(plane.stride), made.get());
    }
    made.release();
    return 1;
}

void give_planes_back(de265_decoder_context *, de265_image *image, void *)
{
    delete static_cast<Planes *>(de265_get_image_plane_user_data(image, 0));
}

heif_error convert(const de265_image *decoded, heif_image **out)
{
    const auto planes = static_cast<const Planes *>(de265_get_image_plane_user_data(decoded, 0));
    if (!planes) {
        return failure(heif_error_Decoder_plugin_error, heif_suberror_Unspecified,
                       "libde265 has not taken the memory that it was given");
    }
    const Plane &luma = planes->planes[0];
    if (!(luma.bytes() > 1 ? is_covered<uint16_t>(luma) : is_covered<uint8_t>(luma))) {
        if (!shim_decode_settings.reports) {
            return failure(heif_error_Decoder_plugin_error, heif_suberror_End_of_data, uncovered);
        }
        shim_decode_settings.is_uncovered = true;
    }
    const de265_chroma chroma = de265_get_chroma_format(decoded);
    const bool is_gray = chroma == de265_chroma_mono;
    heif_image *image = nullptr;
    heif_error result =
        heif_image_create(de265_get_image_width(decoded, 0), de265_get_image_height(decoded, 0),
                          is_gray ? heif_colorspace_monochrome : heif_colorspace_YCbCr, heif_chroma(chroma), &image);
    if (result.code) return result;
    std::unique_ptr<heif_image, void (*)(const heif_image *)> owned(image, heif_image_release);
    result = copy(decoded, *planes, image, is_gray ? 1 : 3);
    if (result.code) return result;

    std::unique_ptr<heif_color_profile_nclx, void (*)(heif_color_profile_nclx *)> nclx(
        heif_nclx_color_profile_alloc(), heif_nclx_color_profile_free);
    // A code point unknown to libheif stays "unspecified", as intended by libheif's own decoder.
    heif_nclx_color_profile_set_color_primaries(nclx.get(), uint16_t(de265_get_image_colour_primaries(decoded)));
    heif_nclx_color_profile_set_transfer_characteristics(
        nclx.get(), uint16_t(de265_get_image_transfer_characteristics(decoded)));
    heif_nclx_color_profile_set_matrix_coefficients(
        nclx.get(), uint16_t(de265_get_image_matrix_coefficients(decoded)));
    nclx->full_range_flag = de265_get_image_full_range_flag(decoded) != 0;
    heif_image_set_nclx_color_profile(image, nclx.get());
    *out = owned.release();
    return success();
}

}
