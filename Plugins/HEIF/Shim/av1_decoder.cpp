// av1_decoder.cpp - an AV1 decoder for libheif's decoder interface, over the same dav1d that libheif has built in.
//
// libheif's own decoder starts one thread per processor. It lets a stream allocate frames of 2^30 pixels, whatever size
// the file's header declares. This decoder takes both limits from the session, and returns RGB where it can
// (colors.cpp): libheif 1.15 does not expose the YCbCr planes, and converts them first, inexactly. The decoder is
// registered per context, so that it does not affect other users of libheif in the process.
//
// SPDX-License-Identifier: Apache-2.0
#include "shim_internal.h"

#include <dav1d/dav1d.h>
#include <libheif/heif_plugin.h>

#include <utility>

thread_local ShimDecodeSettings shim_decode_settings;

namespace {

heif_error failure(heif_error_code code, heif_suberror_code subcode, const char *message)
{
    return {code, subcode, message};
}

heif_error success() { return failure(heif_error_Ok, heif_suberror_Unspecified, "Success"); }

struct Decoder {
    Dav1dContext *context = nullptr;
    Dav1dData data = {};

    ~Decoder()
    {
        if (data.sz) dav1d_data_unref(&data);
        if (context) dav1d_close(&context);
    }
};

const char *name() { return "dav1d"; }

// Above libheif's own priority of 150.
int supports(heif_compression_format format) { return format == heif_compression_AV1 ? 200 : 0; }

void quiet(void *, const char *, va_list) {}

heif_error create(void **out)
{
    return contained([&] {
        auto decoder = std::make_unique<Decoder>();
        Dav1dSettings settings;
        dav1d_default_settings(&settings);
        settings.n_threads = shim_decode_settings.threads;
        // There is only one image: waiting for others would only hold memory.
        settings.max_frame_delay = 1;
        settings.all_layers = 0;
        settings.frame_size_limit = shim_decode_settings.max_pixels;
        settings.logger.callback = quiet;
        if (dav1d_open(&decoder->context, &settings) != 0) {
            return failure(heif_error_Memory_allocation_error, heif_suberror_Unspecified, "dav1d does not start");
        }
        *out = decoder.release();
        return success();
    });
}

void destroy(void *decoder) { delete static_cast<Decoder *>(decoder); }

heif_error push(void *raw, const void *bytes, size_t count)
{
    auto decoder = static_cast<Decoder *>(raw);
    uint8_t *copy = count ? dav1d_data_create(&decoder->data, count) : nullptr;
    if (!copy) return failure(heif_error_Decoder_plugin_error, heif_suberror_End_of_data, "there is no AV1 data");
    std::memcpy(copy, bytes, count);
    return success();
}

// Sends all data and waits for the first image; dav1d returns EAGAIN if it needs the other call first.
heif_error next(Decoder &decoder, Dav1dPicture &decoded)
{
    for (;;) {
        int sent = decoder.data.sz ? dav1d_send_data(decoder.context, &decoder.data) : 0;
        if (sent < 0 && sent != DAV1D_ERR(EAGAIN)) {
            auto code = sent == DAV1D_ERR(ERANGE) ? heif_suberror_Security_limit_exceeded : heif_suberror_Unspecified;
            return failure(heif_error_Decoder_plugin_error, code, "the AV1 data is damaged");
        }
        bool exhausted = decoder.data.sz == 0;
        int got = dav1d_get_picture(decoder.context, &decoded);
        if (got == 0) return success();
        if (got != DAV1D_ERR(EAGAIN) || exhausted) {
            return failure(heif_error_Decoder_plugin_error, heif_suberror_Unspecified, "the AV1 data is damaged");
        }
    }
}

heif_error add_plane(heif_image *image, heif_channel channel, int width, int height, int depth, uint8_t **start,
                     int *stride)
{
    heif_error result = heif_image_add_plane(image, channel, width, height, depth);
    if (result.code == heif_error_Ok) *start = heif_image_get_plane(image, channel, stride);
    return result;
}

// Copies the planes unchanged.
heif_error copy(const Dav1dPicture &decoded, heif_image *image)
{
    static const heif_channel channels[] = {heif_channel_Y, heif_channel_Cb, heif_channel_Cr};
    for (int i = 0; i < (decoded.p.layout == DAV1D_PIXEL_LAYOUT_I400 ? 1 : 3); i++) {
        const bool half_width = i > 0 && decoded.p.layout != DAV1D_PIXEL_LAYOUT_I444;
        const bool half_height = i > 0 && decoded.p.layout == DAV1D_PIXEL_LAYOUT_I420;
        const int width = half_width ? (decoded.p.w + 1) / 2 : decoded.p.w;
        const int height = half_height ? (decoded.p.h + 1) / 2 : decoded.p.h;
        uint8_t *to = nullptr;
        int stride = 0;
        heif_error result = add_plane(image, channels[i], width, height, decoded.p.bpc, &to, &stride);
        if (result.code) return result;
        const auto from = static_cast<const uint8_t *>(decoded.data[i]);
        const size_t bytes = size_t(width) * (decoded.p.bpc > 8 ? 2 : 1);
        for (int y = 0; y < height; y++) {
            std::memcpy(to + size_t(y) * size_t(stride), from + ptrdiff_t(y) * decoded.stride[i > 0], bytes);
        }
    }
    return success();
}

heif_error copy_as_rgb(const Dav1dPicture &decoded, const ShimColors &colors, heif_image *image)
{
    static const heif_channel channels[] = {heif_channel_R, heif_channel_G, heif_channel_B};
    uint8_t *planes[3] = {};
    int strides[3] = {};
    for (int i = 0; i < 3; i++) {
        heif_error result = add_plane(image, channels[i], decoded.p.w, decoded.p.h, 8, &planes[i], &strides[i]);
        if (result.code) return result;
    }
    ShimYCbCr from = {};
    for (int i = 0; i < 3; i++) {
        from.planes[i] = static_cast<const uint8_t *>(decoded.data[i]);
        from.strides[i] = int(decoded.stride[i > 0]);
    }
    from.width = decoded.p.w;
    from.height = decoded.p.h;
    from.shift_x = decoded.p.layout != DAV1D_PIXEL_LAYOUT_I444;
    from.shift_y = decoded.p.layout == DAV1D_PIXEL_LAYOUT_I420;
    if (shim_rgb_planes(from, colors, planes, strides)) return success();
    return failure(heif_error_Memory_allocation_error, heif_suberror_Unspecified, "there is not enough memory");
}

heif_error convert(const Dav1dPicture &decoded, bool wants_rgb, heif_image **out)
{
    static const heif_chroma chromas[] = {
        heif_chroma_monochrome, heif_chroma_420, heif_chroma_422, heif_chroma_444};
    const Dav1dSequenceHeader *header = decoded.seq_hdr;
    const ShimColors told = {uint32_t(header->pri), uint32_t(header->mtrx), header->color_range != 0};
    const ShimColors &colors = shim_decode_settings.has_colors ? shim_decode_settings.colors : told;
    const bool gray = decoded.p.layout == DAV1D_PIXEL_LAYOUT_I400;
    const bool rgb = wants_rgb && !gray && decoded.p.bpc == 8 && shim_knows_colors(colors);
    heif_image *image = nullptr;
    heif_error result = heif_image_create(
        decoded.p.w, decoded.p.h,
        rgb ? heif_colorspace_RGB : gray ? heif_colorspace_monochrome : heif_colorspace_YCbCr,
        rgb ? heif_chroma_444 : chromas[decoded.p.layout], &image);
    if (result.code) return result;
    std::unique_ptr<heif_image, void (*)(const heif_image *)> owned(image, heif_image_release);

    std::unique_ptr<heif_color_profile_nclx, void (*)(heif_color_profile_nclx *)> nclx(
        heif_nclx_color_profile_alloc(), heif_nclx_color_profile_free);
    // A code point unknown to libheif stays "unspecified", as intended by libheif's own decoder.
    heif_nclx_color_profile_set_color_primaries(nclx.get(), uint16_t(header->pri));
    heif_nclx_color_profile_set_transfer_characteristics(nclx.get(), uint16_t(header->trc));
    heif_nclx_color_profile_set_matrix_coefficients(nclx.get(), uint16_t(header->mtrx));
    nclx->full_range_flag = told.full_range;
    heif_image_set_nclx_color_profile(image, nclx.get());

    result = rgb ? copy_as_rgb(decoded, colors, image) : copy(decoded, image);
    if (result.code) return result;
    *out = owned.release();
    return success();
}

heif_error decode(void *raw, heif_image **out)
{
    return contained([&] {
        // All streams after the color stream are alpha.
        const bool wants_rgb = std::exchange(shim_decode_settings.wants_rgb, false);
        Dav1dPicture decoded = {};
        std::unique_ptr<Dav1dPicture, void (*)(Dav1dPicture *)> owned(&decoded, dav1d_picture_unref);
        heif_error result = shim_ask();
        if (!result.code) result = next(*static_cast<Decoder *>(raw), decoded);
        return result.code ? result : convert(decoded, wants_rgb, out);
    });
}

const heif_decoder_plugin plugin = {
    3, name, nullptr, nullptr, supports, create, destroy, push, decode, nullptr, "coderhost-dav1d"};

}

int32_t shim_register_decoders(heif_context *context, heif_shim_error *error)
{
    heif_error result = heif_register_decoder(context, &plugin);
    if (!result.code) result = shim_register_hevc_decoder(context);
    return result.code ? report(result, error) : 0;
}
