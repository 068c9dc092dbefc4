/*
 * exr_writer.c - encodes one part of rows.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "include/exr_writer.h"
#include <OpenEXR/openexr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 224 };

struct exr_shim_writer {
    exr_context_t         context;
    exr_shim_write        write;
    void                 *user;
    exr_encode_pipeline_t pipeline;
    char                  channels[8];
    uint32_t              width, bytes; /* bytes of a sample */
    int32_t               status;
    int32_t               is_open; /* the pipeline is in use */
    char                  error[TEXT];
};

static _Thread_local exr_shim_writer *current;

static void note(exr_const_context_t context, exr_result_t code, const char *text) {
    (void)context, (void)code;
    if (current && current->error[0] == 0) snprintf(current->error, TEXT, "%s", text);
}

static int64_t write_bytes(exr_const_context_t context, void *user, const void *bytes, uint64_t count, uint64_t offset,
                           exr_stream_error_func_ptr_t error) {
    exr_shim_writer *writer = user;
    (void)context, (void)error;
    if (count == 0) return 0;
    if (writer->status == 2 || writer->write(writer->user, offset, bytes, count) != 0) {
        writer->status = 2;
        return -1;
    }
    return (int64_t)count;
}

/* Keeps the first failure. */
static int32_t settle(exr_shim_writer *writer, exr_result_t result) {
    current = NULL;
    if (result != EXR_ERR_SUCCESS && writer->status == 0) writer->status = 1;
    if (result != EXR_ERR_SUCCESS && writer->error[0] == 0)
        snprintf(writer->error, TEXT, "%s", exr_get_default_error_message(result));
    return writer->status;
}

static exr_result_t add_channels(exr_shim_writer *writer) {
    exr_result_t result = EXR_ERR_SUCCESS;
    for (const char *letter = writer->channels; *letter && result == EXR_ERR_SUCCESS; letter++) {
        char name[2] = {*letter, 0};
        result       = exr_add_channel(writer->context, 0, name, writer->bytes == 2 ? EXR_PIXEL_HALF : EXR_PIXEL_FLOAT,
                                       EXR_PERCEPTUALLY_LOGARITHMIC, 1, 1);
    }
    return result;
}

static exr_result_t start(exr_shim_writer *writer, const exr_shim_format *format) {
    exr_context_initializer_t options = EXR_DEFAULT_CONTEXT_INITIALIZER;
    options.error_handler_fn          = note;
    options.user_data                 = writer;
    options.write_fn                  = write_bytes;
    exr_result_t result = exr_start_write(&writer->context, "image", EXR_WRITE_FILE_DIRECTLY, &options);
    if (result != EXR_ERR_SUCCESS) return result;

    int              part   = 0;
    exr_attr_v2f_t   center = {.x = 0, .y = 0};
    exr_attr_box2i_t window = {.min = {.x = 0, .y = 0},
                               .max = {.x = (int32_t)format->width - 1, .y = (int32_t)format->height - 1}};
    result = exr_add_part(writer->context, NULL, EXR_STORAGE_SCANLINE, &part);
    if (result == EXR_ERR_SUCCESS)
        result = exr_initialize_required_attr(writer->context, 0, &window, &window, format->pixel_aspect, &center, 1,
                                              EXR_LINEORDER_INCREASING_Y, (exr_compression_t)format->compression);
    if (result == EXR_ERR_SUCCESS) result = add_channels(writer);
    if (result == EXR_ERR_SUCCESS && format->has_chromaticities) {
        exr_attr_chromaticities_t points;
        memcpy(&points, format->chromaticities, sizeof points);
        result = exr_attr_set_chromaticities(writer->context, 0, "chromaticities", &points);
    }
    return result == EXR_ERR_SUCCESS ? exr_write_header(writer->context) : result;
}

exr_shim_writer *exr_shim_writer_open(const exr_shim_format *format, exr_shim_write write, void *context) {
    exr_shim_writer *writer = calloc(1, sizeof *writer);
    if (!writer) return NULL;
    writer->write = write;
    writer->user  = context;
    writer->width = format->width;
    writer->bytes = format->is_half ? 2 : 4;
    snprintf(writer->channels, sizeof writer->channels, "%s", format->channels);
    current = writer;
    settle(writer, start(writer, format));
    return writer;
}

static void release(exr_shim_writer *writer) {
    if (writer->is_open) exr_encoding_destroy(writer->context, &writer->pipeline);
    writer->is_open = 0;
}

void exr_shim_writer_free(exr_shim_writer *writer) {
    if (!writer) return;
    current = writer;
    release(writer);
    if (writer->context) exr_finish(&writer->context);
    current = NULL;
    free(writer);
}

int32_t     exr_shim_writer_status(const exr_shim_writer *writer) { return writer->status; }
const char *exr_shim_writer_error(const exr_shim_writer *writer) { return writer->error; }

uint32_t exr_shim_writer_rows(const exr_shim_writer *writer) {
    int32_t rows = 0;
    exr_get_scanlines_per_chunk(writer->context, 0, &rows);
    return rows > 0 ? (uint32_t)rows : 1;
}

/* Points the library to the samples. */
static exr_result_t aim(exr_shim_writer *writer, const uint8_t *samples) {
    int32_t pixel = (int32_t)(strlen(writer->channels) * writer->bytes);
    for (int c = 0; c < writer->pipeline.channel_count; c++) {
        exr_coding_channel_info_t *channel = writer->pipeline.channels + c;
        const char                *letter  = strchr(writer->channels, channel->channel_name[0]);
        if (!letter) return EXR_ERR_INVALID_ARGUMENT;
        channel->encode_from_ptr        = samples + (letter - writer->channels) * writer->bytes;
        channel->user_pixel_stride      = pixel;
        channel->user_line_stride       = pixel * (int32_t)writer->width;
        channel->user_bytes_per_element = (int16_t)writer->bytes;
        channel->user_data_type         = writer->bytes == 2 ? EXR_PIXEL_HALF : EXR_PIXEL_FLOAT;
    }
    return EXR_ERR_SUCCESS;
}

int32_t exr_shim_writer_add(exr_shim_writer *writer, uint32_t y, const uint8_t *samples) {
    if (writer->status != 0) return writer->status;
    exr_chunk_info_t chunk = {0};
    current                = writer;
    exr_result_t result    = exr_write_scanline_chunk_info(writer->context, 0, (int)y, &chunk);
    if (result == EXR_ERR_SUCCESS) {
        int is_first = !writer->is_open;
        result       = is_first ? exr_encoding_initialize(writer->context, 0, &chunk, &writer->pipeline)
                                : exr_encoding_update(writer->context, 0, &chunk, &writer->pipeline);
        writer->is_open = 1;
        if (result == EXR_ERR_SUCCESS) result = aim(writer, samples);
        if (result == EXR_ERR_SUCCESS && is_first)
            result = exr_encoding_choose_default_routines(writer->context, 0, &writer->pipeline);
    }
    if (result == EXR_ERR_SUCCESS) result = exr_encoding_run(writer->context, 0, &writer->pipeline);
    return settle(writer, result);
}

int32_t exr_shim_writer_finish(exr_shim_writer *writer) {
    if (writer->status != 0) return writer->status;
    current = writer;
    release(writer);
    exr_result_t result = exr_finish(&writer->context);
    writer->context     = NULL;
    return settle(writer, result);
}
