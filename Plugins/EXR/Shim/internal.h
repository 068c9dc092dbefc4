/*
 * internal.h - what the files of the shim share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXR_SHIM_INTERNAL_H
#define EXR_SHIM_INTERNAL_H
#include "include/exr_shim.h"
#include <OpenEXR/openexr.h>

enum { TEXT = 224 };

struct exr_shim_file {
    exr_context_t         context;
    exr_shim_source       source;
    uint64_t              limit, held; /* bytes of the library */
    uint64_t              requested;   /* what a refused request would have made of `held`; 0: none was refused */
    exr_decode_pipeline_t pipeline;
    int32_t               pipeline_part; /* -1: not in use */
    int32_t               status;
    int32_t               is_short, is_past_end; /* of the call in progress; short: the system has no memory */
    char                  error[TEXT];
};

/* Begins and ends a call of the library. The file of a call in progress is known to the thread, because the library
   passes no context to its allocator. Ending returns EXR_SHIM_... for the result. */
void    begin_call(exr_shim_file *file);
int32_t end_call(exr_shim_file *file, exr_result_t result);
/* Frees the buffers of the last chunk. */
void release_pipeline(exr_shim_file *file);

#endif
