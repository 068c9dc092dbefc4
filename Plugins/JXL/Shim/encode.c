/*
 * encode.c - the encoder of libjxl.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "color.h"

#include <jxl/encode.h>
#include <stdlib.h>
#include <string.h>

struct jxl_shim_encoder {
    JxlEncoder *library;
    jxl_shim_settings settings;
};

jxl_shim_encoder *jxl_shim_encoder_new(jxl_shim_run run, void *context)
{
    jxl_shim_encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder) return NULL;
    encoder->library = JxlEncoderCreate(NULL);
    if (!encoder->library ||
        (run && JxlEncoderSetParallelRunner(encoder->library, run, context) != JXL_ENC_SUCCESS)) {
        jxl_shim_encoder_free(encoder);
        return NULL;
    }
    return encoder;
}

void jxl_shim_encoder_free(jxl_shim_encoder *encoder)
{
    if (!encoder) return;
    if (encoder->library) JxlEncoderDestroy(encoder->library);
    free(encoder);
}

static void set_samples(uint32_t sample, uint32_t *bits, uint32_t *exponent_bits)
{
    *bits = sample == jxl_shim_unorm8 ? 8 : sample == jxl_shim_float ? 32 : 16;
    *exponent_bits = sample == jxl_shim_half ? 5 : sample == jxl_shim_float ? 8 : 0;
}

int32_t jxl_shim_encoder_begin(jxl_shim_encoder *encoder, const jxl_shim_settings *settings)
{
    JxlEncoder *const library = encoder->library;
    encoder->settings = *settings;
    const int has_alpha = settings->channels == 2 || settings->channels == 4;

    JxlBasicInfo info;
    JxlEncoderInitBasicInfo(&info);
    info.xsize = settings->width;
    info.ysize = settings->height;
    set_samples(settings->sample, &info.bits_per_sample, &info.exponent_bits_per_sample);
    info.num_color_channels = settings->channels < 3 ? 1 : 3;
    info.num_extra_channels = has_alpha;
    info.alpha_bits = has_alpha ? info.bits_per_sample : 0;
    info.alpha_exponent_bits = has_alpha ? info.exponent_bits_per_sample : 0;
    info.orientation = (JxlOrientation)settings->orientation;
    info.uses_original_profile = settings->is_lossless != 0;
    if (settings->is_animated) {
        info.have_animation = JXL_TRUE;
        info.animation.tps_numerator = settings->ticks;
        info.animation.tps_denominator = 1;
        info.animation.num_loops = settings->loops;
    }
    if (JxlEncoderSetBasicInfo(library, &info) != JXL_ENC_SUCCESS) return 1;
    if (has_alpha) {
        JxlExtraChannelInfo alpha;
        JxlEncoderInitExtraChannelInfo(JXL_CHANNEL_ALPHA, &alpha);
        alpha.bits_per_sample = info.bits_per_sample;
        alpha.exponent_bits_per_sample = info.exponent_bits_per_sample;
        if (JxlEncoderSetExtraChannelInfo(library, 0, &alpha) != JXL_ENC_SUCCESS) return 1;
    }
    if (JxlEncoderGetRequiredCodestreamLevel(library) == 10 &&
        JxlEncoderSetCodestreamLevel(library, 10) != JXL_ENC_SUCCESS)
        return 1;
    if (settings->has_boxes && JxlEncoderUseBoxes(library) != JXL_ENC_SUCCESS) return 1;
    return 0;
}

int32_t jxl_shim_encoder_color(jxl_shim_encoder *encoder, const jxl_shim_color *color)
{
    const JxlColorEncoding encoding = jxl_shim_encoding(color);
    return JxlEncoderSetColorEncoding(encoder->library, &encoding) != JXL_ENC_SUCCESS;
}

int32_t jxl_shim_encoder_profile(jxl_shim_encoder *encoder, const uint8_t *bytes, uint64_t count)
{
    return JxlEncoderSetICCProfile(encoder->library, bytes, count) != JXL_ENC_SUCCESS;
}

int32_t jxl_shim_encoder_box(jxl_shim_encoder *encoder, const char type[4], const uint8_t *bytes, uint64_t count,
                             uint32_t compresses)
{
    JxlBoxType box;
    memcpy(box, type, 4);
    return JxlEncoderAddBox(encoder->library, box, bytes, count, compresses != 0) != JXL_ENC_SUCCESS;
}

/* Sets the options of one frame; 0 on success. */
static int32_t configure(JxlEncoderFrameSettings *frame, const jxl_shim_settings *settings)
{
    JxlEncoderStatus status = JxlEncoderFrameSettingsSetOption(frame, JXL_ENC_FRAME_SETTING_EFFORT, settings->effort);
    if (status == JXL_ENC_SUCCESS)
        status = JxlEncoderFrameSettingsSetOption(frame, JXL_ENC_FRAME_SETTING_DECODING_SPEED, settings->speed);
    if (status == JXL_ENC_SUCCESS && settings->is_lossless)
        status = JxlEncoderSetFrameLossless(frame, JXL_TRUE);
    else if (status == JXL_ENC_SUCCESS)
        status = JxlEncoderSetFrameDistance(frame, settings->distance);
    if (status != JXL_ENC_SUCCESS || !settings->is_progressive) return status != JXL_ENC_SUCCESS;
    if (settings->is_lossless)
        return JxlEncoderFrameSettingsSetOption(frame, JXL_ENC_FRAME_SETTING_RESPONSIVE, 1) != JXL_ENC_SUCCESS;
    if (JxlEncoderFrameSettingsSetOption(frame, JXL_ENC_FRAME_SETTING_PROGRESSIVE_AC, 1) != JXL_ENC_SUCCESS) return 1;
    return JxlEncoderFrameSettingsSetOption(frame, JXL_ENC_FRAME_SETTING_PROGRESSIVE_DC, 1) != JXL_ENC_SUCCESS;
}

int32_t jxl_shim_encoder_frame(jxl_shim_encoder *encoder, const jxl_shim_pixels *pixels, uint32_t ticks)
{
    /* Freed with the encoder. */
    JxlEncoderFrameSettings *frame = JxlEncoderFrameSettingsCreate(encoder->library, NULL);
    if (!frame || configure(frame, &encoder->settings) != 0) return 1;
    if (encoder->settings.is_animated) {
        JxlFrameHeader header;
        JxlEncoderInitFrameHeader(&header);
        header.duration = ticks;
        if (JxlEncoderSetFrameHeader(frame, &header) != JXL_ENC_SUCCESS) return 1;
    }
    const JxlPixelFormat format = {pixels->channels, jxl_shim_type(pixels->sample), JXL_NATIVE_ENDIAN, pixels->stride};
    return JxlEncoderAddImageFrame(frame, &format, pixels->bytes, pixels->stride * pixels->height) != JXL_ENC_SUCCESS;
}

int32_t jxl_shim_encoder_jpeg(jxl_shim_encoder *encoder, const uint8_t *bytes, uint64_t count, uint32_t effort)
{
    if (JxlEncoderStoreJPEGMetadata(encoder->library, JXL_TRUE) != JXL_ENC_SUCCESS) return 1;
    JxlEncoderFrameSettings *frame = JxlEncoderFrameSettingsCreate(encoder->library, NULL);
    if (!frame) return 1;
    if (JxlEncoderFrameSettingsSetOption(frame, JXL_ENC_FRAME_SETTING_EFFORT, effort) != JXL_ENC_SUCCESS) return 1;
    return JxlEncoderAddJPEGFrame(frame, bytes, count) != JXL_ENC_SUCCESS;
}

void jxl_shim_encoder_close(jxl_shim_encoder *encoder) { JxlEncoderCloseInput(encoder->library); }

int32_t jxl_shim_encoder_write(jxl_shim_encoder *encoder, uint8_t *bytes, uint64_t *count)
{
    size_t room = *count;
    uint8_t *next = bytes;
    const JxlEncoderStatus status = JxlEncoderProcessOutput(encoder->library, &next, &room);
    *count = (uint64_t)(next - bytes);
    return status == JXL_ENC_SUCCESS ? 0 : status == JXL_ENC_NEED_MORE_OUTPUT ? 2 : 1;
}

int32_t jxl_shim_encoder_reason(jxl_shim_encoder *encoder) { return JxlEncoderGetError(encoder->library); }
