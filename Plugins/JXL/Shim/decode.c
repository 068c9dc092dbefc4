/*
 * decode.c - the decoder of libjxl.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "color.h"

#include <jxl/decode.h>
#include <stdlib.h>
#include <string.h>

struct jxl_shim_decoder {
    JxlDecoder *library;
};

static JxlColorProfileTarget target(int32_t of_pixels)
{
    return of_pixels ? JXL_COLOR_PROFILE_TARGET_DATA : JXL_COLOR_PROFILE_TARGET_ORIGINAL;
}

/* libjxl 0.7 ignores this argument of the color functions. */
static const JxlPixelFormat unused = {3, JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0};

static JxlPixelFormat format(const jxl_shim_pixels *pixels)
{
    /* libjxl rounds rows up to a multiple of `align`: this makes rows of exactly `stride` bytes. */
    JxlPixelFormat format = {pixels->channels, jxl_shim_type(pixels->sample), JXL_NATIVE_ENDIAN, pixels->stride};
    return format;
}

jxl_shim_decoder *jxl_shim_decoder_new(uint32_t wanted, jxl_shim_run run, void *context)
{
    jxl_shim_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) return NULL;
    decoder->library = JxlDecoderCreate(NULL);
    int events = 0;
    if (wanted & jxl_shim_wants_header) events |= JXL_DEC_BASIC_INFO | JXL_DEC_COLOR_ENCODING;
    if (wanted & jxl_shim_wants_frames) events |= JXL_DEC_FRAME;
    if (wanted & jxl_shim_wants_pixels) events |= JXL_DEC_FULL_IMAGE;
    if (wanted & jxl_shim_wants_boxes) events |= JXL_DEC_BOX;
    if (wanted & jxl_shim_wants_jpeg) events |= JXL_DEC_JPEG_RECONSTRUCTION;
    if (!decoder->library || JxlDecoderSubscribeEvents(decoder->library, events) != JXL_DEC_SUCCESS ||
        JxlDecoderSetKeepOrientation(decoder->library, JXL_TRUE) != JXL_DEC_SUCCESS ||
        ((wanted & jxl_shim_wants_boxes) &&
         JxlDecoderSetDecompressBoxes(decoder->library, JXL_TRUE) != JXL_DEC_SUCCESS) ||
        (run && JxlDecoderSetParallelRunner(decoder->library, run, context) != JXL_DEC_SUCCESS)) {
        jxl_shim_decoder_free(decoder);
        return NULL;
    }
    return decoder;
}

void jxl_shim_decoder_free(jxl_shim_decoder *decoder)
{
    if (!decoder) return;
    JxlDecoderDestroy(decoder->library);
    free(decoder);
}

int32_t jxl_shim_step(jxl_shim_decoder *decoder, const uint8_t *bytes, uint64_t count, uint64_t *used)
{
    *used = 0;
    if (JxlDecoderSetInput(decoder->library, bytes, count) != JXL_DEC_SUCCESS) return jxl_shim_failed;
    const JxlDecoderStatus status = JxlDecoderProcessInput(decoder->library);
    *used = count - JxlDecoderReleaseInput(decoder->library);
    switch (status) {
    case JXL_DEC_SUCCESS: return jxl_shim_end;
    case JXL_DEC_NEED_MORE_INPUT: return jxl_shim_needs_input;
    case JXL_DEC_BASIC_INFO: return jxl_shim_at_facts;
    case JXL_DEC_COLOR_ENCODING: return jxl_shim_at_color;
    case JXL_DEC_FRAME: return jxl_shim_at_frame;
    case JXL_DEC_NEED_IMAGE_OUT_BUFFER: return jxl_shim_needs_target;
    case JXL_DEC_FULL_IMAGE: return jxl_shim_at_image;
    case JXL_DEC_BOX: return jxl_shim_at_box;
    case JXL_DEC_BOX_NEED_MORE_OUTPUT: return jxl_shim_box_full;
    case JXL_DEC_JPEG_RECONSTRUCTION: return jxl_shim_at_jpeg;
    case JXL_DEC_JPEG_NEED_MORE_OUTPUT: return jxl_shim_jpeg_full;
    case JXL_DEC_ERROR: return jxl_shim_failed;
    default: return jxl_shim_at_other;
    }
}

int32_t jxl_shim_get_facts(const jxl_shim_decoder *decoder, jxl_shim_facts *facts)
{
    JxlBasicInfo info;
    memset(facts, 0, sizeof *facts);
    if (JxlDecoderGetBasicInfo(decoder->library, &info) != JXL_DEC_SUCCESS) return 1;
    facts->width = info.xsize;
    facts->height = info.ysize;
    facts->bits = info.bits_per_sample;
    facts->exponent_bits = info.exponent_bits_per_sample;
    facts->colors = info.num_color_channels;
    facts->alpha_bits = info.alpha_bits;
    facts->orientation = info.orientation;
    facts->extra_channels = info.num_extra_channels;
    facts->is_premultiplied = info.alpha_premultiplied != 0;
    facts->keeps_profile = info.uses_original_profile != 0;
    facts->has_animation = info.have_animation != 0;
    facts->has_container = info.have_container != 0;
    facts->tick_numerator = info.have_animation ? info.animation.tps_numerator : 0;
    facts->tick_denominator = info.have_animation ? info.animation.tps_denominator : 0;
    facts->loops = info.have_animation ? info.animation.num_loops : 0;
    facts->shown_width = info.intrinsic_xsize;
    facts->shown_height = info.intrinsic_ysize;
    return 0;
}

int32_t jxl_shim_channel_kind(const jxl_shim_decoder *decoder, uint32_t index, uint32_t *kind)
{
    JxlExtraChannelInfo info;
    if (JxlDecoderGetExtraChannelInfo(decoder->library, index, &info) != JXL_DEC_SUCCESS) return 1;
    *kind = info.type;
    return 0;
}

void jxl_shim_channel_name(const jxl_shim_decoder *decoder, uint32_t index, char *name, uint64_t capacity)
{
    JxlExtraChannelInfo info;
    name[0] = 0;
    if (JxlDecoderGetExtraChannelInfo(decoder->library, index, &info) != JXL_DEC_SUCCESS) return;
    if (info.name_length == 0 || info.name_length >= capacity) return;
    if (JxlDecoderGetExtraChannelName(decoder->library, index, name, capacity) != JXL_DEC_SUCCESS) name[0] = 0;
    name[capacity - 1] = 0;
}

int32_t jxl_shim_get_color(const jxl_shim_decoder *decoder, int32_t of_pixels, jxl_shim_color *color)
{
    JxlColorEncoding found;
    memset(color, 0, sizeof *color);
    memset(&found, 0, sizeof found);
    if (JxlDecoderGetColorAsEncodedProfile(decoder->library, &unused, target(of_pixels), &found) != JXL_DEC_SUCCESS)
        return 1;
    if (found.color_space != JXL_COLOR_SPACE_RGB && found.color_space != JXL_COLOR_SPACE_GRAY) return 1;
    *color = jxl_shim_described(&found);
    return 0;
}

uint64_t jxl_shim_profile_count(const jxl_shim_decoder *decoder, int32_t of_pixels)
{
    size_t count = 0;
    if (JxlDecoderGetICCProfileSize(decoder->library, &unused, target(of_pixels), &count) != JXL_DEC_SUCCESS) return 0;
    return count;
}

int32_t jxl_shim_get_profile(const jxl_shim_decoder *decoder, int32_t of_pixels, uint8_t *bytes, uint64_t count)
{
    return JxlDecoderGetColorAsICCProfile(decoder->library, &unused, target(of_pixels), bytes, count) !=
           JXL_DEC_SUCCESS;
}

int32_t jxl_shim_prefer(jxl_shim_decoder *decoder, const jxl_shim_color *color)
{
    const JxlColorEncoding wanted = jxl_shim_encoding(color);
    return JxlDecoderSetPreferredColorProfile(decoder->library, &wanted) != JXL_DEC_SUCCESS;
}

int32_t jxl_shim_get_frame(const jxl_shim_decoder *decoder, uint32_t *ticks, uint32_t *is_last)
{
    JxlFrameHeader header;
    memset(&header, 0, sizeof header);
    if (JxlDecoderGetFrameHeader(decoder->library, &header) != JXL_DEC_SUCCESS) return 1;
    *ticks = header.duration;
    *is_last = header.is_last != 0;
    return 0;
}

void jxl_shim_skip(jxl_shim_decoder *decoder, uint64_t frames) { JxlDecoderSkipFrames(decoder->library, frames); }

int32_t jxl_shim_set_target(jxl_shim_decoder *decoder, const jxl_shim_pixels *pixels)
{
    const JxlPixelFormat wanted = format(pixels);
    /* libjxl counts the padding of the last row, and does not write it. */
    return JxlDecoderSetImageOutBuffer(decoder->library, &wanted, pixels->bytes, pixels->stride * pixels->height) !=
           JXL_DEC_SUCCESS;
}

int32_t jxl_shim_set_channel(jxl_shim_decoder *decoder, uint32_t index, const jxl_shim_pixels *pixels)
{
    const JxlPixelFormat wanted = format(pixels);
    return JxlDecoderSetExtraChannelBuffer(decoder->library, &wanted, pixels->bytes, pixels->stride * pixels->height,
                                           index) != JXL_DEC_SUCCESS;
}

int32_t jxl_shim_flush(jxl_shim_decoder *decoder) { return JxlDecoderFlushImage(decoder->library) != JXL_DEC_SUCCESS; }

int32_t jxl_shim_box_type(jxl_shim_decoder *decoder, char type[4])
{
    JxlBoxType found;
    if (JxlDecoderGetBoxType(decoder->library, found, JXL_TRUE) != JXL_DEC_SUCCESS) return 1;
    memcpy(type, found, 4);
    return 0;
}

int32_t jxl_shim_lend_box(jxl_shim_decoder *decoder, uint8_t *bytes, uint64_t count)
{
    return JxlDecoderSetBoxBuffer(decoder->library, bytes, count) != JXL_DEC_SUCCESS;
}

uint64_t jxl_shim_take_box(jxl_shim_decoder *decoder) { return JxlDecoderReleaseBoxBuffer(decoder->library); }

int32_t jxl_shim_lend_jpeg(jxl_shim_decoder *decoder, uint8_t *bytes, uint64_t count)
{
    return JxlDecoderSetJPEGBuffer(decoder->library, bytes, count) != JXL_DEC_SUCCESS;
}

uint64_t jxl_shim_take_jpeg(jxl_shim_decoder *decoder) { return JxlDecoderReleaseJPEGBuffer(decoder->library); }
