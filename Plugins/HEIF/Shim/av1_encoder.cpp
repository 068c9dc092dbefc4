// av1_encoder.cpp - an AV1 encoder for libheif's encoder interface, over the same libaom that libheif has built in.
//
// libheif 1.15's own encoder confuses storage bits with sample bits, and requests a profile from libaom that does not
// exist. libaom then aborts the process, for every 10-bit image except 4:2:2. It also copies the image once more.
//
// Encoders can only be registered for the whole process. This one has the lowest priority, so callers that do not
// select it by name get libheif's own encoder.
//
// SPDX-License-Identifier: Apache-2.0
#include "shim_internal.h"

#include <aom/aom_encoder.h>
#include <aom/aomcx.h>
#include <libheif/heif_plugin.h>

#include <cstdio>
#include <mutex>
#include <vector>

thread_local const heif_shim_settings *shim_encode_settings = nullptr;

namespace {

const heif_error success = {heif_error_Ok, heif_suberror_Unspecified, "Success"};

heif_error failure(const char *message)
{
    return {heif_error_Encoder_plugin_error, heif_suberror_Unspecified, message};
}

struct Encoder {
    std::vector<uint8_t> data;
    bool taken = false;
};

const char *name() { return "aom"; }
heif_error create(void **out) { return *out = new Encoder, success; }
void destroy(void *encoder) { delete static_cast<Encoder *>(encoder); }

// The session's settings are in shim_encode_settings; libheif's parameters are not used.
heif_error set_number(void *, int) { return success; }
heif_error get_number(void *, int *out) { return *out = 0, success; }
heif_error set_named(void *, const char *, int) { return success; }
heif_error get_named(void *, const char *, int *out) { return *out = 0, success; }
heif_error set_text(void *, const char *, const char *) { return success; }
heif_error get_text(void *, const char *, char *out, int size)
{
    if (size > 0) *out = 0;
    return success;
}

const heif_encoder_parameter **parameters(void *)
{
    static const heif_encoder_parameter *none[] = {nullptr};
    return none;
}

void wanted(heif_colorspace *space, heif_chroma *chroma)
{
    if (*space == heif_colorspace_monochrome) return;
    *space = heif_colorspace_YCbCr;
    const int samples = shim_encode_settings ? shim_encode_settings->chroma : 420;
    *chroma = samples == 444 ? heif_chroma_444 : samples == 422 ? heif_chroma_422 : heif_chroma_420;
}

void wanted_by(void *, heif_colorspace *space, heif_chroma *chroma) { wanted(space, chroma); }

// A view of the planes; gray images need color planes, with constant samples.
struct View {
    aom_image_t image = {};
    std::vector<uint16_t> neutral;
};

void describe(const heif_image *source, View &view)
{
    static const heif_channel channels[] = {heif_channel_Y, heif_channel_Cb, heif_channel_Cr};
    const heif_chroma chroma = heif_image_get_chroma_format(source);
    const int width = heif_image_get_width(source, heif_channel_Y);
    const int height = heif_image_get_height(source, heif_channel_Y);
    const int depth = heif_image_get_bits_per_pixel_range(source, heif_channel_Y);
    const bool gray = chroma == heif_chroma_monochrome;
    aom_image_t &image = view.image;
    image.x_chroma_shift = chroma != heif_chroma_444;
    image.y_chroma_shift = chroma == heif_chroma_420 || gray;
    image.fmt = chroma == heif_chroma_444   ? AOM_IMG_FMT_I444
                : chroma == heif_chroma_422 ? AOM_IMG_FMT_I422
                                            : AOM_IMG_FMT_I420;
    if (depth > 8) image.fmt = aom_img_fmt_t(image.fmt | AOM_IMG_FMT_HIGHBITDEPTH);
    image.w = image.d_w = unsigned(width);
    image.h = image.d_h = unsigned(height);
    image.bit_depth = unsigned(depth);
    image.monochrome = gray;
    for (int i = 0; i < (gray ? 1 : 3); i++) {
        image.planes[i] = const_cast<uint8_t *>(
            heif_image_get_plane_readonly(source, channels[i], &image.stride[i]));
    }
    if (!gray) return;
    const size_t columns = size_t(width + 1) / 2, rows = size_t(height + 1) / 2;
    // Copies 8-bit samples two at a time, or one sample of more bits.
    view.neutral.assign(columns * rows, depth > 8 ? uint16_t(1u << (depth - 1)) : 0x8080);
    for (int i = 1; i < 3; i++) {
        image.planes[i] = reinterpret_cast<uint8_t *>(view.neutral.data());
        image.stride[i] = int(columns) * (depth > 8 ? 2 : 1);
    }
}

// AV1 Bitstream & Decoding Process, section 6.4.1: 0 is 4:2:0, 1 adds 4:4:4, 2 adds 4:2:2 and 12 bits.
unsigned profile(const aom_image_t &image)
{
    if (image.bit_depth > 10 || (image.x_chroma_shift && !image.y_chroma_shift)) return 2;
    return image.x_chroma_shift ? 0 : 1;
}

void set_colors(aom_codec_ctx_t *codec, const heif_image *source, heif_image_input_class input)
{
    heif_color_profile_nclx *nclx = nullptr;
    const bool known = heif_image_get_nclx_color_profile(source, &nclx).code == heif_error_Ok && nclx;
    aom_codec_control(codec, AV1E_SET_COLOR_RANGE, known ? int(nclx->full_range_flag) : 1);
    if (!known) return;
    if (input != heif_image_input_class_alpha) {
        aom_codec_control(codec, AV1E_SET_COLOR_PRIMARIES, int(nclx->color_primaries));
        aom_codec_control(codec, AV1E_SET_TRANSFER_CHARACTERISTICS, int(nclx->transfer_characteristics));
        aom_codec_control(codec, AV1E_SET_MATRIX_COEFFICIENTS, int(nclx->matrix_coefficients));
    }
    heif_nclx_color_profile_free(nclx);
}

void drain(aom_codec_ctx_t *codec, std::vector<uint8_t> &out)
{
    aom_codec_iter_t position = nullptr;
    while (const aom_codec_cx_pkt_t *packet = aom_codec_get_cx_data(codec, &position)) {
        if (packet->kind != AOM_CODEC_CX_FRAME_PKT) continue;
        auto bytes = static_cast<const uint8_t *>(packet->data.frame.buf);
        out.insert(out.end(), bytes, bytes + packet->data.frame.sz);
    }
}

heif_error encode(void *raw, const heif_image *source, heif_image_input_class input)
{
    auto encoder = static_cast<Encoder *>(raw);
    const heif_shim_settings *settings = shim_encode_settings;
    if (!settings) return failure("this encoder is the plugin's own");
    View view;
    describe(source, view);

    aom_codec_iface_t *interface = aom_codec_av1_cx();
    aom_codec_enc_cfg_t config;
    if (aom_codec_enc_config_default(interface, &config, AOM_USAGE_ALL_INTRA) != AOM_CODEC_OK) {
        return failure("libaom has no settings for still images");
    }
    config.g_w = view.image.d_w;
    config.g_h = view.image.d_h;
    // One frame: libaom then writes the short header of a still image and keeps no other frames.
    config.g_limit = 1;
    config.g_lag_in_frames = 0;
    config.kf_mode = AOM_KF_DISABLED;
    config.kf_max_dist = 0;
    config.g_profile = profile(view.image);
    config.g_bit_depth = aom_bit_depth_t(view.image.bit_depth);
    config.g_input_bit_depth = view.image.bit_depth;
    config.g_threads = settings->threads;
    config.monochrome = view.image.monochrome;
    config.rc_end_usage = AOM_Q;
    config.rc_min_quantizer = 0;
    config.rc_max_quantizer = 63;

    aom_codec_ctx_t codec;
    const aom_codec_flags_t flags = view.image.bit_depth > 8 ? AOM_CODEC_USE_HIGHBITDEPTH : 0;
    if (aom_codec_enc_init(&codec, interface, &config, flags) != AOM_CODEC_OK) {
        return failure("libaom does not take an image of this size or kind");
    }
    std::unique_ptr<aom_codec_ctx_t, aom_codec_err_t (*)(aom_codec_ctx_t *)> owned(&codec, aom_codec_destroy);
    aom_codec_control(&codec, AOME_SET_CPUUSED, 9 - int(settings->effort));
    // 0 ... 63; 63 is the lowest quality.
    aom_codec_control(&codec, AOME_SET_CQ_LEVEL, unsigned((100 - settings->quality) * 63 + 50) / 100);
    aom_codec_control(&codec, AOME_SET_TUNING, int(AOM_TUNE_SSIM));
    aom_codec_control(&codec, AV1E_SET_ROW_MT, unsigned(settings->threads > 1));
    if (settings->lossless) aom_codec_control(&codec, AV1E_SET_LOSSLESS, 1u);
    set_colors(&codec, source, input);

    encoder->data.clear();
    encoder->taken = false;
    if (aom_codec_encode(&codec, &view.image, 0, 1, 0) != AOM_CODEC_OK) return failure("libaom gave up");
    drain(&codec, encoder->data);
    if (aom_codec_encode(&codec, nullptr, -1, 0, 0) != AOM_CODEC_OK) return failure("libaom gave up");
    drain(&codec, encoder->data);
    return encoder->data.empty() ? failure("libaom gave no image") : success;
}

heif_error take(void *raw, uint8_t **data, int *size, heif_encoded_data_type *)
{
    auto encoder = static_cast<Encoder *>(raw);
    *data = encoder->taken ? nullptr : encoder->data.data();
    *size = encoder->taken ? 0 : int(encoder->data.size());
    encoder->taken = true;
    return success;
}

// A host may load a replaced plugin file in addition to the old one. Both register here, so each needs its own name.
char id[48] = "";

const heif_encoder_plugin plugin = {
    3, heif_compression_AV1, id, 1, 1, 1, name, nullptr, nullptr, create, destroy,
    set_number, get_number, set_number, get_number, set_number, get_number, parameters,
    set_named, get_named, set_named, get_named, set_text, get_text, wanted, encode, take, wanted_by, nullptr};

}

heif_error shim_av1_encoder(heif_context *context, heif_encoder **encoder)
{
    static std::once_flag once;
    std::call_once(once, [] {
        std::snprintf(id, sizeof id, "coderhost-aom-%p", static_cast<const void *>(&plugin));
        heif_register_encoder_plugin(&plugin);
    });
    const heif_encoder_descriptor *descriptor = nullptr;
    if (heif_context_get_encoder_descriptors(context, heif_compression_AV1, id, &descriptor, 1) != 1) {
        return {heif_error_Unsupported_feature, heif_suberror_Unsupported_codec, "there is no AV1 encoder"};
    }
    return heif_context_get_encoder(context, descriptor, encoder);
}
