/*
 * decode.c - decodes a part of a codestream at a reduced size.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "jp2_shim.h"
#include "messages.h"
#include <stdlib.h>
#include <string.h>

struct jp2_shim_decoder {
    jp2_shim_source source;
    uint64_t        position;
    opj_stream_t   *stream;
    opj_codec_t    *codec;
    opj_image_t    *image;
    jp2_messages    messages;
};

/* MARK: the stream */

/* Large reads bypass this buffer. */
static const OPJ_SIZE_T stream_buffer = 64 << 10;
static const OPJ_SIZE_T stream_end = (OPJ_SIZE_T)-1;

static OPJ_SIZE_T read_bytes(void *target, OPJ_SIZE_T count, void *context)
{
    jp2_shim_decoder *decoder = context;
    if (decoder->position >= decoder->source.count) return stream_end;
    const uint64_t left = decoder->source.count - decoder->position;
    if (count > left) count = (OPJ_SIZE_T)left;
    if (decoder->source.bytes)
        memcpy(target, decoder->source.bytes + decoder->position, count);
    else
        count = (OPJ_SIZE_T)decoder->source.read(decoder->source.context, decoder->position, target, count);
    decoder->position += count;
    return count ? count : stream_end;
}

static OPJ_OFF_T skip_bytes(OPJ_OFF_T count, void *context)
{
    jp2_shim_decoder *decoder = context;
    if (count < 0) return -1;
    const uint64_t left = decoder->source.count - decoder->position;
    if ((uint64_t)count > left) count = (OPJ_OFF_T)left;
    decoder->position += (uint64_t)count;
    return count;
}

static OPJ_BOOL seek_bytes(OPJ_OFF_T offset, void *context)
{
    jp2_shim_decoder *decoder = context;
    if (offset < 0 || (uint64_t)offset > decoder->source.count) return OPJ_FALSE;
    decoder->position = (uint64_t)offset;
    return OPJ_TRUE;
}

/* MARK: decoding */

jp2_shim_decoder *jp2_shim_decoder_new(const jp2_shim_source *source)
{
    jp2_shim_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) return NULL;
    decoder->source = *source;
    decoder->stream = opj_stream_create(stream_buffer, OPJ_TRUE);
    decoder->codec = opj_create_decompress(OPJ_CODEC_J2K);
    if (!decoder->stream || !decoder->codec) {
        jp2_shim_decoder_free(decoder);
        return NULL;
    }
    opj_stream_set_read_function(decoder->stream, read_bytes);
    opj_stream_set_skip_function(decoder->stream, skip_bytes);
    opj_stream_set_seek_function(decoder->stream, seek_bytes);
    opj_stream_set_user_data(decoder->stream, decoder, NULL);
    opj_stream_set_user_data_length(decoder->stream, source->count);
    jp2_keep_messages(decoder->codec, &decoder->messages);
    return decoder;
}

void jp2_shim_decoder_free(jp2_shim_decoder *decoder)
{
    if (!decoder) return;
    opj_image_destroy(decoder->image);
    if (decoder->codec) opj_destroy_codec(decoder->codec);
    if (decoder->stream) opj_stream_destroy(decoder->stream);
    free(decoder);
}

/* The library states its reasons only as text: "Unsupported ...", "We do not support ...". */
static int32_t failure(const jp2_shim_decoder *decoder)
{
    const char *text = decoder->messages.error;
    if (strstr(text, "memory")) return jp2_shim_no_memory;
    return strstr(text, "support") ? jp2_shim_unsupported : jp2_shim_failed;
}

int32_t jp2_shim_decode(jp2_shim_decoder *decoder, const jp2_shim_area *area, uint32_t reduction,
                        const uint32_t *components, uint32_t count)
{
    opj_dparameters_t parameters;
    opj_set_default_decoder_parameters(&parameters);
    parameters.cp_reduce = reduction;
    if (!opj_setup_decoder(decoder->codec, &parameters)) return failure(decoder);
    /* A tile-part that is shorter than stated is decoded as far as it goes. */
    if (!opj_decoder_set_strict_mode(decoder->codec, OPJ_FALSE)) return failure(decoder);
    if (!opj_read_header(decoder->stream, decoder->codec, &decoder->image)) return failure(decoder);
    const opj_image_t *image = decoder->image;
    if (count > 0 && !opj_set_decoded_components(decoder->codec, count, components, OPJ_FALSE)) return failure(decoder);
    const int is_whole = area->left <= image->x0 && area->top <= image->y0 && area->right >= image->x1 &&
                         area->bottom >= image->y1;
    if (!is_whole &&
        !opj_set_decode_area(decoder->codec, decoder->image, (OPJ_INT32)area->left, (OPJ_INT32)area->top,
                             (OPJ_INT32)area->right, (OPJ_INT32)area->bottom))
        return failure(decoder);
    if (!opj_decode(decoder->codec, decoder->stream, decoder->image)) return failure(decoder);
    return 0;
}

uint32_t jp2_shim_plane_count(const jp2_shim_decoder *decoder) { return decoder->image ? decoder->image->numcomps : 0; }

/* The quotient by a power of two, rounded up. */
static uint32_t reduced(uint32_t value, uint32_t reduction)
{
    return (uint32_t)(((uint64_t)value + ((uint64_t)1 << reduction) - 1) >> reduction);
}

void jp2_shim_get_plane(const jp2_shim_decoder *decoder, uint32_t index, jp2_shim_plane *plane)
{
    const opj_image_comp_t *component = &decoder->image->comps[index];
    *plane = (jp2_shim_plane){component->data, component->w, component->h, reduced(component->x0, component->factor),
                              reduced(component->y0, component->factor)};
    if (component->w == 0 || component->h == 0) plane->samples = NULL;
}

const char *jp2_shim_error(const jp2_shim_decoder *decoder) { return decoder->messages.error; }

const char *jp2_shim_next_warning(jp2_shim_decoder *decoder)
{
    jp2_messages *messages = &decoder->messages;
    return messages->told < messages->noted ? messages->warnings[messages->told++] : NULL;
}
