/*
 * exr_file.c - opens a file over the host's bytes, and limits the memory of the library.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "internal.h"
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local exr_shim_file *current;

void begin_call(exr_shim_file *file) {
    current           = file;
    file->is_short    = 0;
    file->requested   = 0;
    file->is_past_end = 0;
    file->error[0]    = 0;
}

int32_t end_call(exr_shim_file *file, exr_result_t result) {
    current = NULL;
    if (result == EXR_ERR_SUCCESS) return EXR_SHIM_OK;
    if (file->error[0] == 0) snprintf(file->error, TEXT, "%s", exr_get_default_error_message(result));
    if (file->requested) return EXR_SHIM_LIMIT;
    if (file->is_short) return EXR_SHIM_SHORT;
    if (file->is_past_end) return EXR_SHIM_MISSING;
    return result == EXR_ERR_FEATURE_NOT_IMPLEMENTED ? EXR_SHIM_UNSUPPORTED : EXR_SHIM_DAMAGED;
}

/* Memory begins with zeros: damaged chunks must not show its earlier contents. */
static void *take(size_t size) {
    exr_shim_file *file = current;
    if (file && file->limit && (file->held > file->limit || size > file->limit - file->held)) {
        file->requested = size > UINT64_MAX - file->held ? UINT64_MAX : file->held + size;
        return NULL;
    }
    void *memory = calloc(1, size);
    if (file && memory) file->held += malloc_usable_size(memory);
    if (file && !memory) file->is_short = 1;
    return memory;
}

static void give(void *memory) {
    if (!memory) return;
    uint64_t count = malloc_usable_size(memory);
    if (current) current->held -= count < current->held ? count : current->held;
    free(memory);
}

static void note(exr_const_context_t context, exr_result_t code, const char *text) {
    (void)context, (void)code;
    if (current && current->error[0] == 0) snprintf(current->error, TEXT, "%s", text);
}

static int64_t read_bytes(exr_const_context_t context, void *user, void *target, uint64_t count, uint64_t offset,
                          exr_stream_error_func_ptr_t error) {
    exr_shim_file *file = user;
    uint64_t       left = offset < file->source.count ? file->source.count - offset : 0;
    (void)context, (void)error;
    if (count > left) {
        file->is_past_end = 1;
        count             = left;
    }
    if (count == 0) return 0;
    if (file->source.bytes) memcpy(target, file->source.bytes + offset, count);
    else count = file->source.read(file->source.context, offset, target, count);
    return (int64_t)count;
}

static int64_t size_of(exr_const_context_t context, void *user) {
    (void)context;
    return (int64_t)((exr_shim_file *)user)->source.count;
}

exr_shim_file *exr_shim_open(const exr_shim_source *source, uint64_t limit) {
    exr_shim_file *file = calloc(1, sizeof *file);
    if (!file) return NULL;
    file->source        = *source;
    file->limit         = limit;
    file->pipeline_part = -1;

    exr_context_initializer_t options = EXR_DEFAULT_CONTEXT_INITIALIZER;
    options.error_handler_fn          = note;
    options.alloc_fn                  = take;
    options.free_fn                   = give;
    options.user_data                 = file;
    options.read_fn                   = read_bytes;
    options.size_fn                   = size_of;
    /* The caller holds the sizes against its limits; the global ones of the library may be another caller's. */
    options.max_image_width = options.max_image_height = INT32_MAX;
    options.max_tile_width = options.max_tile_height = INT32_MAX;

    begin_call(file);
    file->status = end_call(file, exr_start_read(&file->context, "image", &options));
    return file;
}

void exr_shim_close(exr_shim_file *file) {
    if (!file) return;
    release_pipeline(file);
    begin_call(file);
    if (file->context) exr_finish(&file->context);
    current = NULL;
    free(file);
}

uint64_t exr_shim_requested(const exr_shim_file *file) { return file->requested; }

int32_t     exr_shim_status(const exr_shim_file *file) { return file->status; }
const char *exr_shim_error(const exr_shim_file *file) { return file->error; }
