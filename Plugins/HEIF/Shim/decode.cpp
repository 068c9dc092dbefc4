// decode.cpp - decoding: libheif up to planes, then one pass that interleaves them into the caller's rows.
//
// libheif would interleave the planes itself, with a second image in memory and a second pass over it. Its planes are
// the last stage before that. They also tell the size of the alpha plane, which libheif does not check.
//
// SPDX-License-Identifier: Apache-2.0
#include "shim_internal.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace {

// The file as libheif reads it: behind the boxes of the excerpt.
struct Spliced {
    const uint8_t *bytes = nullptr;
    uint64_t count = 0, position = 0;
    std::vector<uint8_t> prefix;

    uint64_t total() const { return prefix.size() + count; }

    static int64_t tell(void *user) { return int64_t(static_cast<Spliced *>(user)->position); }

    static int read(void *out, size_t size, void *user)
    {
        auto self = static_cast<Spliced *>(user);
        if (size > self->total() - self->position) return 1;
        auto to = static_cast<uint8_t *>(out);
        const uint64_t start = self->position, front = self->prefix.size();
        const size_t own = start < front ? size_t(std::min<uint64_t>(front - start, size)) : 0;
        if (own) std::memcpy(to, self->prefix.data() + start, own);
        if (size > own) std::memcpy(to + own, self->bytes + (start + own - front), size - own);
        self->position += size;
        return 0;
    }

    static int seek(int64_t position, void *user)
    {
        auto self = static_cast<Spliced *>(user);
        if (position < 0 || uint64_t(position) > self->total()) return 1;
        self->position = uint64_t(position);
        return 0;
    }

    static heif_reader_grow_status wait(int64_t size, void *user)
    {
        return size >= 0 && uint64_t(size) <= static_cast<Spliced *>(user)->total()
                   ? heif_reader_grow_status_size_reached
                   : heif_reader_grow_status_size_beyond_eof;
    }
};

const heif_reader splicing = {1, Spliced::tell, Spliced::read, Spliced::seek, Spliced::wait};

}

struct heif_shim_decoder {
    Spliced file;
    heif_context *context = nullptr;
    heif_image_handle *primary = nullptr;
    heif_image *image = nullptr;
    heif_shim_planes decoded = {};
    ShimDecodeSettings settings;

    ~heif_shim_decoder()
    {
        if (image) heif_image_release(image);
        if (primary) heif_image_handle_release(primary);
        if (context) heif_context_free(context);
    }
};

int32_t heif_shim_open(const uint8_t *bytes, uint64_t count, const uint8_t *prefix, uint64_t prefix_count,
                       uint32_t max_side, uint32_t threads, uint64_t max_pixels, heif_shim_decoder **decoder,
                       heif_shim_error *error)
{
    return guarded(error, [&] {
        auto made = std::make_unique<heif_shim_decoder>();
        made->context = heif_context_alloc();
        heif_context_set_maximum_image_size_limit(made->context, int(max_side));
        // Decodes tiles on the calling thread: the host provides the other threads.
        heif_context_set_max_decoding_threads(made->context, 0);
        made->settings.threads = threads > 1 ? int(threads) : 1;
        if (max_pixels && max_pixels < made->settings.max_pixels) made->settings.max_pixels = unsigned(max_pixels);
        if (int32_t code = shim_register_decoders(made->context, error)) return code;
        made->file.bytes = bytes;
        made->file.count = count;
        made->file.prefix.assign(prefix, prefix + prefix_count);
        heif_error result = heif_context_read_from_reader(made->context, &splicing, &made->file, nullptr);
        if (result.code) return report(result, error);
        result = heif_context_get_primary_image_handle(made->context, &made->primary);
        if (result.code) return report(result, error);
        *decoder = made.release();
        return 0;
    });
}

void heif_shim_close(heif_shim_decoder *decoder) { delete decoder; }

namespace {

// Returns a plane of at least width x height samples; false if libheif made it smaller than declared.
bool describe(const heif_image *image, heif_channel channel, uint32_t width, uint32_t height, uint8_t *depth)
{
    if (!heif_image_has_channel(image, channel)) return false;
    if (uint32_t(heif_image_get_width(image, channel)) < width) return false;
    if (uint32_t(heif_image_get_height(image, channel)) < height) return false;
    int bits = heif_image_get_bits_per_pixel_range(image, channel);
    if (bits < 8 || bits > 16) return false;
    if (*depth != 0 && *depth != bits) return false;
    *depth = uint8_t(bits);
    return true;
}

// The code points that the file itself declares for the image.
bool colors_of(const heif_image_handle *handle, ShimColors *colors)
{
    heif_color_profile_nclx *nclx = nullptr;
    if (heif_image_handle_get_nclx_color_profile(handle, &nclx).code != heif_error_Ok || !nclx) return false;
    *colors = {uint32_t(nclx->color_primaries), uint32_t(nclx->matrix_coefficients), nclx->full_range_flag != 0};
    heif_nclx_color_profile_free(nclx);
    return true;
}

}

int32_t heif_shim_decode(heif_shim_decoder *decoder, uint8_t as_gray, uint8_t own_colors, uint8_t may_skip_crop,
                         heif_shim_poll poll, void *context, heif_shim_planes *planes,
                         heif_shim_error *error)
{
    return guarded(error, [&] {
        heif_image_handle *handle = decoder->primary;
        if (decoder->image) heif_image_release(decoder->image);
        decoder->image = nullptr;
        const heif_colorspace space = as_gray ? heif_colorspace_monochrome : heif_colorspace_RGB;
        const heif_chroma chroma = as_gray ? heif_chroma_monochrome : heif_chroma_444;
        ShimDecodeSettings settings = decoder->settings;
        settings.wants_rgb = own_colors && !as_gray;
        settings.reports = true;
        settings.poll = poll;
        settings.context = context;
        settings.has_colors = colors_of(handle, &settings.colors);
        shim_decode_settings = settings;
        heif_error result = heif_decode_image(handle, &decoder->image, space, chroma, nullptr);
        heif_shim_planes found = {};
        if (may_skip_crop && result.subcode == heif_suberror_Invalid_clean_aperture) {
            std::unique_ptr<heif_decoding_options, void (*)(heif_decoding_options *)> options(
                heif_decoding_options_alloc(), heif_decoding_options_free);
            options->ignore_transformations = 1;
            found.skipped_crop = 1;
            shim_decode_settings = settings;
            result = heif_decode_image(handle, &decoder->image, space, chroma, options.get());
        }
        const ShimDecodeSettings said = std::exchange(shim_decode_settings, {});
        if (said.is_stopped) return report(heif_shim_code_stopped, 0, "the caller stopped the decoder", error);
        if (result.code) return report(result, error);
        found.is_uncovered = said.is_uncovered;
        std::strncpy(found.warning, said.warning ? said.warning : "", sizeof found.warning - 1);

        const heif_image *image = decoder->image;
        heif_channel first = as_gray ? heif_channel_Y : heif_channel_R;
        found.width = uint32_t(heif_image_get_width(image, first));
        found.height = uint32_t(heif_image_get_height(image, first));
        found.is_gray = as_gray;
        bool sound = describe(image, first, found.width, found.height, &found.depth);
        if (!as_gray) {
            sound = sound && describe(image, heif_channel_G, found.width, found.height, &found.depth) &&
                    describe(image, heif_channel_B, found.width, found.height, &found.depth);
        }
        if (!sound || !found.width || !found.height) {
            return report(heif_error_Decoder_plugin_error, 0, "the planes of the image do not fit together", error);
        }
        if (heif_image_has_channel(image, heif_channel_Alpha) &&
            !describe(image, heif_channel_Alpha, found.width, found.height, &found.alpha_depth)) {
            return report(heif_error_Decoder_plugin_error, 0, "the alpha plane is smaller than the image", error);
        }
        heif_color_profile_nclx *nclx = nullptr;
        if (heif_image_get_nclx_color_profile(image, &nclx).code == heif_error_Ok && nclx) {
            found.has_range = 1;
            found.full_range = nclx->full_range_flag;
            heif_nclx_color_profile_free(nclx);
        }
        decoder->decoded = found;
        *planes = found;
        return 0;
    });
}

namespace {

struct Plane {
    const uint8_t *start;
    uint64_t stride;
    uint8_t depth;
};

Plane plane(const heif_image *image, heif_channel channel, uint8_t depth)
{
    int stride = 0;
    const uint8_t *start = heif_image_get_plane_readonly(image, channel, &stride);
    return {start, uint64_t(stride), depth};
}

// Converts a sample of `depth` bits to `Out`: repeats bits upwards, drops bits downwards.
template <class Out> inline Out widen(uint32_t value, uint32_t depth)
{
    constexpr uint32_t bits = sizeof(Out) * 8;
    if (depth >= bits) return Out(value >> (depth - bits));
    return Out(value << (bits - depth) | value >> (2 * depth - bits));
}

// Copies one row of a plane, from column `x` on, to every `right`th byte.
template <class In, class Out>
void put(const uint8_t *row, uint32_t x, uint32_t depth, uint32_t width, uint8_t *out, int64_t right)
{
    const In *in = reinterpret_cast<const In *>(row) + x;
    for (uint32_t i = 0; i < width; i++) {
        const Out value = widen<Out>(in[i], depth);
        std::memcpy(out + int64_t(i) * right, &value, sizeof value);
    }
}

template <class Out>
void put_row(const Plane &plane, uint32_t x, uint32_t y, uint32_t width, uint8_t *out, int64_t right)
{
    const uint8_t *row = plane.start + y * plane.stride;
    if (plane.depth > 8) put<uint16_t, Out>(row, x, plane.depth, width, out, right);
    else put<uint8_t, Out>(row, x, plane.depth, width, out, right);
}

// Stretches luma of 16 ... 235 (times 2^(depth-8)) to the full range, rounded.
template <class Out>
void stretch_row(const Plane &plane, uint32_t x, uint32_t y, uint32_t width, uint8_t *out, int64_t right)
{
    const uint8_t *row = plane.start + y * plane.stride;
    const uint32_t scale = 1u << (plane.depth - 8);
    const uint64_t low = 16 * scale, range = 219 * scale, full = Out(~Out(0));
    for (uint32_t i = 0; i < width; i++) {
        uint64_t value = plane.depth > 8 ? reinterpret_cast<const uint16_t *>(row)[x + i] : row[x + i];
        value = value < low ? 0 : value - low;
        value = value > range ? range : value;
        const Out stretched = Out((value * full * 2 + range) / (range * 2));
        std::memcpy(out + int64_t(i) * right, &stretched, sizeof stretched);
    }
}

struct Painted {
    Plane planes[3];
    // NULL: opaque.
    const Plane *alpha;
    heif_shim_layout layout;
    uint32_t x, width;
    int64_t right;
};

template <class Out> void paint_row(const Painted &from, uint32_t y, uint8_t *out)
{
    static const uint8_t order[2][3] = {{0, 1, 2}, {2, 1, 0}};
    const heif_shim_layout &layout = from.layout;
    const uint32_t colors = layout.channels < 3 ? 1 : 3;
    const bool has_alpha = layout.channels == 2 || layout.channels > 3;
    uint8_t *last = out + colors * sizeof(Out);
    if (layout.only_alpha) {
        put_row<Out>(from.planes[0], from.x, y, from.width, last, from.right);
        return;
    }
    for (uint32_t c = 0; c < colors; c++) {
        uint8_t *start = out + (colors == 1 ? 0 : order[layout.channels == 5][c]) * sizeof(Out);
        if (layout.expand_range) stretch_row<Out>(from.planes[c], from.x, y, from.width, start, from.right);
        else put_row<Out>(from.planes[c], from.x, y, from.width, start, from.right);
    }
    if (!has_alpha) return;
    if (from.alpha) put_row<Out>(*from.alpha, from.x, y, from.width, last, from.right);
    else for (uint32_t i = 0; i < from.width; i++) std::memset(last + int64_t(i) * from.right, 0xFF, sizeof(Out));
}

}

int32_t heif_shim_paint(const heif_shim_decoder *decoder, uint32_t x, uint32_t y, uint32_t width, uint32_t height,
                        heif_shim_layout layout, uint8_t *pixels, int64_t right, int64_t down)
{
    const heif_image *image = decoder->image;
    const heif_shim_planes &decoded = decoder->decoded;
    if (!image || x > decoded.width || width > decoded.width - x) return heif_error_Usage_error;
    if (y > decoded.height || height > decoded.height - y) return heif_error_Usage_error;
    const bool has_alpha = layout.channels == 2 || layout.channels > 3;
    if (layout.only_alpha && (!decoded.is_gray || !has_alpha)) return heif_error_Usage_error;
    if (!layout.only_alpha && (decoded.is_gray != 0) != (layout.channels < 3)) return heif_error_Usage_error;
    Painted from = {{plane(image, decoded.is_gray ? heif_channel_Y : heif_channel_R, decoded.depth)}, nullptr, layout,
                    x, width, right};
    if (!decoded.is_gray) {
        from.planes[1] = plane(image, heif_channel_G, decoded.depth);
        from.planes[2] = plane(image, heif_channel_B, decoded.depth);
    }
    Plane alpha = {};
    if (decoded.alpha_depth) alpha = plane(image, heif_channel_Alpha, decoded.alpha_depth);
    if (decoded.alpha_depth) from.alpha = &alpha;
    for (uint32_t row = y; row < y + height; row++) {
        uint8_t *out = pixels + int64_t(row - y) * down;
        if (layout.channels == 3 && layout.bits == 8 && decoded.depth == 8 && right == 3) {
            const uint8_t *starts[3];
            for (int c = 0; c < 3; c++) starts[c] = from.planes[c].start + row * from.planes[c].stride + x;
            shim_merge_rgb_row(starts[0], starts[1], starts[2], out, width);
        }
        else if (layout.bits == 8) paint_row<uint8_t>(from, row, out);
        else paint_row<uint16_t>(from, row, out);
    }
    return 0;
}
