/*
 * encode.c - encodes planes to a codestream in memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "jp2_shim.h"
#include "messages.h"
#include <stdlib.h>
#include <string.h>

struct jp2_shim_encoder {
    jp2_shim_settings settings;
    opj_image_t      *image;
    uint8_t          *bytes;
    uint64_t          count, capacity, position;
    int32_t           has_overflowed;
    jp2_messages      messages;
};

/* MARK: the output */

/* Makes room up to `end`; bytes in a gap are 0. */
static int reach(jp2_shim_encoder *encoder, uint64_t end)
{
    if (encoder->settings.limit && end > encoder->settings.limit) {
        encoder->has_overflowed = 1;
        return 0;
    }
    if (end > encoder->capacity) {
        uint64_t capacity = encoder->capacity ? encoder->capacity : 64 << 10;
        while (capacity < end) capacity *= 2;
        uint8_t *bytes = realloc(encoder->bytes, capacity);
        if (!bytes) return 0;
        encoder->bytes = bytes;
        encoder->capacity = capacity;
    }
    if (end > encoder->count) {
        memset(encoder->bytes + encoder->count, 0, end - encoder->count);
        encoder->count = end;
    }
    return 1;
}

static OPJ_SIZE_T write_bytes(void *bytes, OPJ_SIZE_T count, void *context)
{
    jp2_shim_encoder *encoder = context;
    if (!reach(encoder, encoder->position + count)) return (OPJ_SIZE_T)-1;
    memcpy(encoder->bytes + encoder->position, bytes, count);
    encoder->position += count;
    return count;
}

static OPJ_OFF_T skip_bytes(OPJ_OFF_T count, void *context)
{
    jp2_shim_encoder *encoder = context;
    if (count < 0 || !reach(encoder, encoder->position + (uint64_t)count)) return -1;
    encoder->position += (uint64_t)count;
    return count;
}

static OPJ_BOOL seek_bytes(OPJ_OFF_T offset, void *context)
{
    jp2_shim_encoder *encoder = context;
    if (offset < 0 || (uint64_t)offset > encoder->count) return OPJ_FALSE;
    encoder->position = (uint64_t)offset;
    return OPJ_TRUE;
}

/* MARK: encoding */

jp2_shim_encoder *jp2_shim_encoder_new(const jp2_shim_settings *settings)
{
    opj_image_cmptparm_t components[4];
    if (settings->channels < 1 || settings->channels > 4) return NULL;
    memset(components, 0, sizeof components);
    for (uint32_t i = 0; i < settings->channels; i++) {
        components[i].dx = components[i].dy = 1;
        components[i].w = settings->width;
        components[i].h = settings->height;
        components[i].prec = settings->bits;
    }
    jp2_shim_encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder) return NULL;
    encoder->settings = *settings;
    encoder->image = opj_image_create(settings->channels, components,
                                      settings->channels < 3 ? OPJ_CLRSPC_GRAY : OPJ_CLRSPC_SRGB);
    if (!encoder->image) {
        free(encoder);
        return NULL;
    }
    encoder->image->x1 = settings->width;
    encoder->image->y1 = settings->height;
    return encoder;
}

void jp2_shim_encoder_free(jp2_shim_encoder *encoder)
{
    if (!encoder) return;
    opj_image_destroy(encoder->image);
    free(encoder->bytes);
    free(encoder);
}

int32_t *jp2_shim_encoder_plane(jp2_shim_encoder *encoder, uint32_t channel)
{
    return channel < encoder->image->numcomps ? encoder->image->comps[channel].data : NULL;
}

static void choose(opj_cparameters_t *parameters, const jp2_shim_settings *settings)
{
    opj_set_default_encoder_parameters(parameters);
    parameters->numresolution = (int)settings->levels + 1;
    parameters->prog_order = (OPJ_PROG_ORDER)settings->progression;
    parameters->tcp_mct = settings->mixes_colors != 0;
    parameters->irreversible = !settings->is_lossless;
    parameters->tcp_numlayers = 1;
    if (settings->is_lossless || settings->ratio > 0) {
        parameters->cp_disto_alloc = 1;
        parameters->tcp_rates[0] = settings->is_lossless ? 0 : settings->ratio;
    } else {
        parameters->cp_fixed_quality = 1;
        parameters->tcp_distoratio[0] = settings->fidelity;
    }
    if (settings->tile) {
        parameters->tile_size_on = OPJ_TRUE;
        parameters->cp_tdx = parameters->cp_tdy = (int)settings->tile;
    }
}

static int run(jp2_shim_encoder *encoder, opj_codec_t *codec, opj_stream_t *stream)
{
    opj_cparameters_t parameters;
    choose(&parameters, &encoder->settings);
    jp2_keep_messages(codec, &encoder->messages);
    opj_stream_set_write_function(stream, write_bytes);
    opj_stream_set_skip_function(stream, skip_bytes);
    opj_stream_set_seek_function(stream, seek_bytes);
    opj_stream_set_user_data(stream, encoder, NULL);
    return opj_setup_encoder(codec, &parameters, encoder->image) && opj_start_compress(codec, encoder->image, stream) &&
           opj_encode(codec, stream) && opj_end_compress(codec, stream);
}

int32_t jp2_shim_encode(jp2_shim_encoder *encoder)
{
    opj_codec_t  *codec = opj_create_compress(OPJ_CODEC_J2K);
    opj_stream_t *stream = opj_stream_create(64 << 10, OPJ_FALSE);
    const int     is_done = codec && stream && run(encoder, codec, stream);
    if (codec) opj_destroy_codec(codec);
    if (stream) opj_stream_destroy(stream);
    if (is_done) return 0;
    return strstr(encoder->messages.error, "memory") ? jp2_shim_no_memory : jp2_shim_failed;
}

int32_t jp2_shim_encoder_overflowed(const jp2_shim_encoder *encoder) { return encoder->has_overflowed; }

const uint8_t *jp2_shim_encoder_output(const jp2_shim_encoder *encoder, uint64_t *count)
{
    *count = encoder->count;
    return encoder->bytes;
}

const char *jp2_shim_encoder_error(const jp2_shim_encoder *encoder) { return encoder->messages.error; }
