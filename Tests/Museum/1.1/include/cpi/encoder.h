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
 *                  v
 *              [framed] -- add_frame --> [framed]
 *                  |
 *                finish
 *                  v
 *             [finished]
 *
 *      close: legal in every state.  A negative answer leads to [failed]: every call but close repeats it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CPI_ENCODER_H
#define CPI_ENCODER_H

#include "decoder.h"

typedef struct cpi_encoder cpi_encoder; /* the plugin's; one encoding session */

typedef struct cpi_encoder_api {
    uint32_t size;
    uint32_t reserved; /* must be zero */

    /* Begins a session. `services` and `limits` stay valid until close, `options` only during the call. An open that
       fails has freed everything; the host ignores *encoder then. [host - none - any thread] */
    cpi_status (*CPI_NONNULL open)(const struct cpi_coder *CPI_NONNULL coder, const cpi_services *CPI_NONNULL services,
                                   const cpi_limits *CPI_NONNULL limits, const cpi_options *CPI_NULLABLE options,
                                   cpi_encoder *CPI_NULLABLE *CPI_NONNULL encoder, cpi_error *CPI_NONNULL error);

    /* Ends a session in whatever state it is. [host - any - session thread] */
    void (*CPI_NONNULL close)(cpi_encoder *CPI_NONNULL encoder);

    /* Says which pixel format number `index`, best first, it takes for a picture with these facts (info->native is
       what the host has). CPI_END behind the last one. [host - opened - session thread] */
    cpi_status (*CPI_NONNULL accept)(cpi_encoder *CPI_NONNULL encoder, const cpi_image_info *CPI_NONNULL info,
                                     uint32_t index, cpi_format_offer *CPI_NONNULL offer, cpi_error *CPI_NONNULL error);

    /* Fixes the facts of the output: info->native is the format every frame will have, frame_count 0 means "not known
       yet". The sink stays valid until close. [host - opened - session thread] */
    cpi_status (*CPI_NONNULL begin)(cpi_encoder *CPI_NONNULL encoder, const cpi_image_info *CPI_NONNULL info,
                                    const cpi_sink *CPI_NONNULL sink, cpi_error *CPI_NONNULL error);

    /* Hands over metadata to embed; the bytes are valid only during the call. A kind the format cannot carry is
       answered with CPI_UNSUPPORTED, which is no failure: the session goes on. NULL: the format carries none.
       [host - begun, before the first frame - session thread] */
    cpi_status (*CPI_NULLABLE add_blob)(cpi_encoder *CPI_NONNULL encoder, const cpi_blob *CPI_NONNULL blob,
                                        cpi_error *CPI_NONNULL error);

    /* Encodes one frame from a surface in the agreed format; the pixels are valid only during the call.
       [host - begun, framed - session thread, may block] */
    cpi_status (*CPI_NONNULL add_frame)(cpi_encoder *CPI_NONNULL encoder, const cpi_frame_info *CPI_NONNULL frame,
                                        const cpi_surface *CPI_NONNULL surface, cpi_error *CPI_NONNULL error);

    /* Writes what is left. Only CPI_OK means that the output is complete. [host - framed - session thread, may block] */
    cpi_status (*CPI_NONNULL finish)(cpi_encoder *CPI_NONNULL encoder, cpi_error *CPI_NONNULL error);

    /* Looks up an extension of this session by id. NULL for every id it does not know.
       [host - opened and later - session thread] */
    const void *CPI_NULLABLE (*CPI_NULLABLE get)(cpi_encoder *CPI_NONNULL encoder, const char *CPI_NONNULL id);
} cpi_encoder_api;

#endif
