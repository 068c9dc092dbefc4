// encode.cpp - encoding: converts the caller's rows to planes for libheif with x265 or aom.
//
// SPDX-License-Identifier: Apache-2.0
#include "shim_internal.h"

#include <string>

namespace {


using Image = std::unique_ptr<heif_image, void (*)(const heif_image *)>;
using Handle = std::unique_ptr<heif_image_handle, void (*)(const heif_image_handle *)>;
using Nclx = std::unique_ptr<heif_color_profile_nclx, void (*)(heif_color_profile_nclx *)>;
using Options = std::unique_ptr<heif_encoding_options, void (*)(heif_encoding_options *)>;

}

struct heif_shim_encoder {
    heif_shim_settings settings = {};
    heif_context *context = nullptr;
    heif_encoder *encoder = nullptr;
    Handle image{nullptr, heif_image_handle_release};

    ~heif_shim_encoder()
    {
        image.reset();
        if (encoder) heif_encoder_release(encoder);
        if (context) heif_context_free(context);
    }
};

namespace {

// Provides the settings to our own encoder while libheif may call it.
struct Lending {
    explicit Lending(const heif_shim_settings &settings) { shim_encode_settings = &settings; }
    ~Lending() { shim_encode_settings = nullptr; }
};

// Sets the parameters of x265; our own AV1 encoder reads the settings itself.
heif_error configure(heif_encoder *encoder, const heif_shim_settings &settings)
{
    static const char *const presets[] = {
        "ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow", "placebo"};
    heif_error result = heif_encoder_set_lossy_quality(encoder, settings.quality);
    if (!result.code) result = heif_encoder_set_lossless(encoder, settings.lossless);
    if (!result.code) heif_encoder_set_logging_level(encoder, 0);
    const std::string chroma = std::to_string(settings.chroma);
    if (!result.code) result = heif_encoder_set_parameter_string(encoder, "chroma", chroma.c_str());
    if (result.code) return result;
    result = heif_encoder_set_parameter_string(encoder, "preset", presets[settings.effort]);
    // One more thread runs the frame.
    const std::string pool = settings.threads > 1 ? std::to_string(settings.threads - 1) : "none";
    if (!result.code) result = heif_encoder_set_parameter_string(encoder, "x265:pools", pool.c_str());
    if (!result.code) result = heif_encoder_set_parameter_string(encoder, "x265:frame-threads", "1");
    return result;
}

// Converts a sample of In to `depth` bits, rounded.
template <class In, class Out>
void fill(const heif_shim_pixels &pixels, uint32_t index, uint32_t step, uint32_t depth, uint8_t *plane, int stride)
{
    const uint32_t from = In(~In(0)), to = (1u << depth) - 1;
    for (uint32_t y = 0; y < pixels.height; y++) {
        const In *in = reinterpret_cast<const In *>(pixels.bytes + y * pixels.stride) + index;
        Out *out = reinterpret_cast<Out *>(plane + size_t(y) * size_t(stride));
        if (from == to) {
            for (uint32_t x = 0; x < pixels.width; x++) out[x] = Out(in[uint64_t(x) * step]);
        } else {
            for (uint32_t x = 0; x < pixels.width; x++) {
                out[x] = Out((uint64_t(in[uint64_t(x) * step]) * to * 2 + from) / (2 * uint64_t(from)));
            }
        }
    }
}

heif_error add_plane(heif_image *image, heif_channel channel, const heif_shim_pixels &pixels, uint32_t index,
                     uint32_t step, uint32_t depth)
{
    heif_error result = heif_image_add_plane(image, channel, int(pixels.width), int(pixels.height), int(depth));
    if (result.code) return result;
    int stride = 0;
    uint8_t *plane = heif_image_get_plane(image, channel, &stride);
    if (pixels.bits == 8 && depth == 8) fill<uint8_t, uint8_t>(pixels, index, step, depth, plane, stride);
    else if (pixels.bits == 8) fill<uint8_t, uint16_t>(pixels, index, step, depth, plane, stride);
    else if (depth == 8) fill<uint16_t, uint8_t>(pixels, index, step, depth, plane, stride);
    else fill<uint16_t, uint16_t>(pixels, index, step, depth, plane, stride);
    return result;
}

heif_error make_image(const heif_shim_pixels &pixels, const heif_shim_settings &settings, Image &out)
{
    const bool gray = pixels.channels < 3, has_alpha = pixels.channels == 4;
    heif_image *image = nullptr;
    heif_error result = heif_image_create(
        int(pixels.width), int(pixels.height), gray ? heif_colorspace_monochrome : heif_colorspace_RGB,
        gray ? heif_chroma_monochrome : heif_chroma_444, &image);
    if (result.code) return result;
    out.reset(image);
    static const heif_channel colors[] = {heif_channel_R, heif_channel_G, heif_channel_B};
    const uint32_t step = gray ? 1 : has_alpha ? 4 : 3;
    for (uint32_t c = 0; c < (gray ? 1u : 3u) && !result.code; c++) {
        result = add_plane(image, gray ? heif_channel_Y : colors[c], pixels, c, step, settings.depth);
    }
    if (has_alpha && !result.code) result = add_plane(image, heif_channel_Alpha, pixels, 3, step, settings.depth);
    if (has_alpha) heif_image_set_premultiplied_alpha(image, settings.premultiplied);
    return result;
}

heif_error describe_colors(heif_color_profile_nclx *nclx, const heif_shim_settings &settings)
{
    heif_error result = heif_nclx_color_profile_set_color_primaries(nclx, settings.primaries);
    if (!result.code) {
        result = heif_nclx_color_profile_set_transfer_characteristics(nclx, settings.transfer);
    }
    if (!result.code) result = heif_nclx_color_profile_set_matrix_coefficients(nclx, settings.matrix);
    nclx->full_range_flag = 1;
    return result;
}

// libheif scales to a bound and rounds down to even sides; a very long image would have no pixels left.
bool wants_thumbnail(const heif_shim_pixels &pixels, uint32_t bound)
{
    const uint32_t longer = pixels.width > pixels.height ? pixels.width : pixels.height;
    const uint32_t shorter = pixels.width > pixels.height ? pixels.height : pixels.width;
    return bound >= 2 && longer > bound && uint64_t(shorter) * bound / longer >= 2;
}

// Codes one image of the file.
heif_error encode_item(const heif_shim_encoder &encoder, const heif_shim_pixels &pixels, const uint8_t *icc,
                       uint64_t icc_count, const heif_encoding_options &options, Image &image, Handle &handle)
{
    heif_error result = make_image(pixels, encoder.settings, image);
    if (result.code) return result;
    Nclx nclx(heif_nclx_color_profile_alloc(), heif_nclx_color_profile_free);
    result = describe_colors(nclx.get(), encoder.settings);
    if (!result.code) result = heif_image_set_nclx_color_profile(image.get(), nclx.get());
    if (!result.code && icc_count) {
        result = heif_image_set_raw_color_profile(image.get(), "prof", icc, size_t(icc_count));
    }
    if (result.code) return result;
    heif_image_handle *made = nullptr;
    result = heif_context_encode_image(encoder.context, image.get(), encoder.encoder, &options, &made);
    if (!result.code) handle.reset(made);
    return result;
}

}

int32_t heif_shim_encoder_new(const heif_shim_settings *settings, heif_shim_encoder **encoder,
                              heif_shim_error *error)
{
    return guarded(error, [&] {
        auto made = std::make_unique<heif_shim_encoder>();
        made->settings = *settings;
        made->context = heif_context_alloc();
        heif_error result =
            settings->av1 ? shim_av1_encoder(made->context, &made->encoder)
                          : heif_context_get_encoder_for_format(made->context, heif_compression_HEVC, &made->encoder);
        if (!result.code && !settings->av1) result = configure(made->encoder, *settings);
        if (result.code) return report(result, error);
        *encoder = made.release();
        return 0;
    });
}

int32_t heif_shim_encode(heif_shim_encoder *encoder, const heif_shim_pixels *pixels, const heif_shim_pixels *thumbnail,
                         const uint8_t *icc, uint64_t icc_count, heif_shim_error *error)
{
    return guarded(error, [&] {
        const heif_shim_settings &settings = encoder->settings;
        const Lending lending(settings);
        Options options(heif_encoding_options_alloc(), heif_encoding_options_free);
        options->save_two_colr_boxes_when_ICC_and_nclx_available = 1;
        // Without the code points, decoders could not undo the matrix.
        options->macOS_compatibility_workaround_no_nclx_profile = 0;
        Image image(nullptr, heif_image_release);
        heif_error result = encode_item(*encoder, *pixels, icc, icc_count, *options, image, encoder->image);
        if (result.code) return report(result, error);

        options->save_alpha_channel = 0;
        if (thumbnail) {
            Image small(nullptr, heif_image_release);
            Handle handle(nullptr, heif_image_handle_release);
            result = encode_item(*encoder, *thumbnail, icc, icc_count, *options, small, handle);
            if (!result.code) {
                // libheif exchanges the two images (its issue 93): the first one becomes the thumbnail.
                result = heif_context_assign_thumbnail(encoder->context, handle.get(), encoder->image.get());
            }
        } else if (wants_thumbnail(*pixels, settings.thumbnail)) {
            heif_image_handle *small = nullptr;
            result = heif_context_encode_thumbnail(encoder->context, image.get(), encoder->image.get(),
                                                   encoder->encoder, options.get(), int(settings.thumbnail), &small);
            if (small) heif_image_handle_release(small);
        }
        return result.code ? report(result, error) : 0;
    });
}

int32_t heif_shim_add_exif(heif_shim_encoder *encoder, const uint8_t *bytes, uint64_t count, heif_shim_error *error)
{
    return guarded(error, [&] {
        heif_error result =
            heif_context_add_exif_metadata(encoder->context, encoder->image.get(), bytes, int(count));
        return result.code ? report(result, error) : 0;
    });
}

int32_t heif_shim_add_xmp(heif_shim_encoder *encoder, const uint8_t *bytes, uint64_t count, heif_shim_error *error)
{
    return guarded(error, [&] {
        heif_error result =
            heif_context_add_XMP_metadata(encoder->context, encoder->image.get(), bytes, int(count));
        return result.code ? report(result, error) : 0;
    });
}

namespace {

struct Output {
    void *context;
    int32_t (*write)(void *context, const uint8_t *bytes, uint64_t count);
};

heif_error forward(heif_context *, const void *bytes, size_t count, void *user)
{
    auto output = static_cast<Output *>(user);
    if (output->write(output->context, static_cast<const uint8_t *>(bytes), count) == 0) {
        return {heif_error_Ok, heif_suberror_Unspecified, "Success"};
    }
    return {heif_error_Encoding_error, heif_suberror_Cannot_write_output_data, "the output could not be written"};
}

}

int32_t heif_shim_write(heif_shim_encoder *encoder, void *context,
                        int32_t (*write)(void *context, const uint8_t *bytes, uint64_t count),
                        heif_shim_error *error)
{
    return guarded(error, [&] {
        Output output = {context, write};
        heif_writer writer = {1, forward};
        heif_error result = heif_context_write(encoder->context, &writer, &output);
        return result.code ? report(result, error) : 0;
    });
}

void heif_shim_encoder_free(heif_shim_encoder *encoder) { delete encoder; }
