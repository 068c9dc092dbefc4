/*
 * encoder.h - pixels to bytes, frame by frame; a whole animation is never in memory.
 *
 *      open --> [opened] -- accept: any number of times --.
 *                  ^-------------------------------------'
 *                  |
 *                begin
 *                  v
 *               [begun] -- add_blob: any number, before the first frame --> [begun]
 *                  |
 *              add_frame: once for a still, else once a frame, in order
 *                  |      (or begin_rows and add_rows, see rows.h)
 *                  v
 *              [framed] -- add_frame --> [framed];  next_item (see items.h) --> [opened]
 *                  |
 *                finish
 *                  v
 *             [finished]
 *
 *      close: legal in every state.  A negative status leads to [failed]: every call but close repeats it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CPI_ENCODER_H
#define CPI_ENCODER_H
#include "decoder.h"
CPI_ASSUME_NONNULL_BEGIN

typedef struct cpi_encoder cpi_encoder; /* the plugin's; one encoding session */

typedef struct cpi_encoder_api {
    uint32_t size;
    uint32_t reserved; /* must be zero */

    /* Begins a session. `services` and `limits` stay valid until close, `options` only during the call. An open that
       fails has freed everything; the host ignores *encoder then. [host - none - any thread] */
    cpi_status (*open)(const struct cpi_coder *coder, const cpi_services *services, const cpi_limits *limits,
                       const cpi_options *CPI_NULLABLE options, cpi_encoder *CPI_NULLABLE *CPI_NONNULL encoder,
                       cpi_error *error);

    /* Ends a session in whatever state it is. [host - any - session thread] */
    void (*close)(cpi_encoder *encoder);

    /* Reports pixel format number `index`, best first, that it takes for an image with these facts (info->native is the
       format that the host has). CPI_OK, CPI_END behind the last one. [host - opened - session thread] */
    cpi_status (*accept)(cpi_encoder *encoder, const cpi_image_info *info, uint32_t index, cpi_format_offer *offer,
                         cpi_error *error);

    /* Fixes the facts of the output: every frame has the format info->native; frame_count 0 means "not known yet". The
       sink stays valid until close. [host - opened - session thread] */
    cpi_status (*begin)(cpi_encoder *encoder, const cpi_image_info *info, const cpi_sink *sink, cpi_error *error);

    /* Hands over metadata to embed; the bytes are valid only during the call. CPI_OK, CPI_REFUSED (the format cannot
       carry it; the host warns) or an error. NULL: the format carries none.
       [host - begun, before the first frame - session thread] */
    cpi_status (*CPI_NULLABLE add_blob)(cpi_encoder *encoder, const cpi_blob *blob, cpi_error *error);

    /* Encodes one frame from a surface in the agreed format; the pixels are valid only during the call.
       [host - begun, framed - session thread, may block] */
    cpi_status (*add_frame)(cpi_encoder *encoder, const cpi_frame_info *frame, const cpi_surface *surface,
                            cpi_error *error);

    /* Writes the rest. Only CPI_OK means that the output is complete. [host - framed - session thread, may block] */
    cpi_status (*finish)(cpi_encoder *encoder, cpi_error *error);

    /* Looks up an extension of this session by id. NULL for every id it does not know; a table stays valid until close.
       [host - opened and later - session thread] */
    const void *CPI_NULLABLE (*CPI_NULLABLE get)(cpi_encoder *encoder, const char *id);
} cpi_encoder_api;

CPI_ASSUME_NONNULL_END
#endif
