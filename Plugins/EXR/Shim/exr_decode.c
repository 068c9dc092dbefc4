/*
 * exr_decode.c - decodes one chunk at a time.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "internal.h"
#include <string.h>

void release_pipeline(exr_shim_file *file) {
    if (file->pipeline_part < 0) return;
    begin_call(file);
    exr_decoding_destroy(file->context, &file->pipeline);
    end_call(file, EXR_ERR_SUCCESS);
    memset(&file->pipeline, 0, sizeof file->pipeline);
    file->pipeline_part = -1;
}

/* Points the library to the targets; fails if a channel has more samples than its target. */
static exr_result_t aim(exr_decode_pipeline_t *pipeline, const exr_shim_block *block, const exr_shim_target *targets,
                        uint32_t count) {
    if (pipeline->chunk.width > block->width || pipeline->chunk.height > block->height) return EXR_ERR_CORRUPT_CHUNK;
    for (int c = 0; c < pipeline->channel_count; c++) pipeline->channels[c].decode_to_ptr = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (targets[i].channel < 0 || targets[i].channel >= pipeline->channel_count) return EXR_ERR_INVALID_ARGUMENT;
        exr_coding_channel_info_t *channel = pipeline->channels + targets[i].channel;
        if (channel->width > block->width || channel->height > block->height) return EXR_ERR_CORRUPT_CHUNK;
        channel->decode_to_ptr          = targets[i].start;
        channel->user_pixel_stride      = targets[i].pixel_stride;
        channel->user_line_stride       = targets[i].row_stride;
        channel->user_data_type         = (uint16_t)targets[i].type;
        channel->user_bytes_per_element = targets[i].type == EXR_PIXEL_HALF ? 2 : 4;
    }
    return EXR_ERR_SUCCESS;
}

int32_t exr_shim_decode(exr_shim_file *file, const exr_shim_block *block, const exr_shim_target *targets,
                        uint32_t count) {
    exr_chunk_info_t chunk = {0};
    exr_result_t     result;
    if (file->pipeline_part != block->part) release_pipeline(file);

    begin_call(file);
    if (block->is_tile)
        result = exr_read_tile_chunk_info(file->context, block->part, block->x, block->y, block->level_x,
                                          block->level_y, &chunk);
    else result = exr_read_scanline_chunk_info(file->context, block->part, block->y, &chunk);
    if (result == EXR_ERR_SUCCESS) {
        if (file->pipeline_part < 0)
            result = exr_decoding_initialize(file->context, block->part, &chunk, &file->pipeline);
        else result = exr_decoding_update(file->context, block->part, &chunk, &file->pipeline);
        file->pipeline_part = block->part;
    }
    if (result == EXR_ERR_SUCCESS) result = aim(&file->pipeline, block, targets, count);
    if (result == EXR_ERR_SUCCESS)
        result = exr_decoding_choose_default_routines(file->context, block->part, &file->pipeline);
    if (result == EXR_ERR_SUCCESS) result = exr_decoding_run(file->context, block->part, &file->pipeline);
    int32_t status = end_call(file, result);
    /* A failed chunk may leave the buffers in any state. */
    if (status != EXR_SHIM_OK) {
        char text[TEXT];
        memcpy(text, file->error, TEXT);
        release_pipeline(file);
        memcpy(file->error, text, TEXT);
    }
    return status;
}
