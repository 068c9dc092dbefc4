/*
 * decoder.h - bytes to pixels: one call sequence for stills, animations, growing sources and random access.
 *
 *                    open
 *                     |
 *                     v
 *                 [opened] -- set_source --> [sourced]
 *                                               |
 *                                 read_header   |  CPI_NEED_INPUT: stay, the source has to grow
 *                                               v
 *        .---------------------------------> [header] <------------------------------.
 *        |   blob, offer, reduced_size: any time from here on                        |
 *        |                                      |                                    |
 *        |                          next_frame  |  CPI_NEED_INPUT: stay              |
 *        |   seek_frame                         |  CPI_END: no further frame, stay   |
 *        |   (any index)                        v                                    |
 *        |                                   [frame] -- next_frame (skips pixels) ---'
 *        |                                      |
 *        |                              decode  |  CPI_NEED_INPUT, CPI_PARTIAL: stay, call again
 *        |                                      v
 *        '-------------------------------- [decoded] -- decode again, or next_frame
 *
 *        close: legal in every state.  A negative answer leads to [failed]: every call but close repeats it.
 *
 * One-shot decoding of a still: open, set_source, read_header, next_frame, decode, close.
 * A growing source uses the same calls: CPI_NEED_INPUT is an ordinary answer, and the work done so far is kept.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CPI_DECODER_H
#define CPI_DECODER_H

#include "frame.h"
#include "host.h"
#include "io.h"
#include "option.h"

struct cpi_coder;
typedef struct cpi_decoder cpi_decoder; /* the plugin's; one decoding session */

/* A pixel format a decoder can fill, in its order of preference. */
typedef struct cpi_format_offer {
    uint32_t         size;
    uint32_t         flags;      /* none defined                                                    */
    cpi_pixel_format format;
    uint32_t         row_align;  /* bytes a row's start should be a multiple of; 0 or 1 = any       */
    uint32_t         reserved;   /* must be zero                                                    */
} cpi_format_offer;

#define CPI_DECODE_WANT_PARTIAL ((uint32_t)0x01)  /* hint: fill what there is and answer CPI_PARTIAL */

/* What decode is asked for. */
typedef struct cpi_decode_request {
    uint32_t                         size;
    uint32_t                         flags;   /* CPI_DECODE_...                                                    */
    const cpi_surface *CPI_NONNULL   surface; /* where to; its size is that of `region`, or `reduced`              */
    cpi_rect                         region;  /* part of the frame, in pixels of the reduced frame if it is reduced;
                                                 all zero = the whole frame. Anything else only with CPI_CODER_REGION,
                                                 or as bands with CPI_IMAGE_ROWS: whole rows, each band beginning
                                                 where the last one ended, the first one at 0                      */
    uint32_t                         reduced_width;  /* as answered by reduced_size; 0 = full size                 */
    uint32_t                         reduced_height;
} cpi_decode_request;

typedef struct cpi_decoder_api {
    uint32_t size;
    uint32_t reserved; /* must be zero */

    /* Begins a session. `services` and `limits` stay valid until close, `options` only during the call. An open that
       fails has freed everything; the host ignores *decoder then. [host - none - any thread] */
    cpi_status (*CPI_NONNULL open)(const struct cpi_coder *CPI_NONNULL coder, const cpi_services *CPI_NONNULL services,
                                   const cpi_limits *CPI_NONNULL limits, const cpi_options *CPI_NULLABLE options,
                                   cpi_decoder *CPI_NULLABLE *CPI_NONNULL decoder, cpi_error *CPI_NONNULL error);

    /* Ends a session in whatever state it is; the pointer is dead afterwards. [host - any - session thread] */
    void (*CPI_NONNULL close)(cpi_decoder *CPI_NONNULL decoder);

    /* Lends the input until close. Reads nothing yet. [host - opened - session thread] */
    cpi_status (*CPI_NONNULL set_source)(cpi_decoder *CPI_NONNULL decoder, const cpi_source *CPI_NONNULL source,
                                         cpi_error *CPI_NONNULL error);

    /* Reads up to the facts of the whole picture and takes no memory for pixels. CPI_OK, CPI_NEED_INPUT or an error.
       [host - sourced - session thread, may block] */
    cpi_status (*CPI_NONNULL read_header)(cpi_decoder *CPI_NONNULL decoder, cpi_image_info *CPI_NONNULL info,
                                          cpi_error *CPI_NONNULL error);

    /* Hands out metadata number `index`, from 0. CPI_OK, CPI_END behind the last one, CPI_NEED_INPUT or an error. The
       blob stays valid until the next call on this decoder. Metadata that stands behind the pixels may appear only
       after decode.
       [host - header and later - session thread] */
    cpi_status (*CPI_NULLABLE blob)(cpi_decoder *CPI_NONNULL decoder, uint32_t index, cpi_blob *CPI_NONNULL blob,
                                    cpi_error *CPI_NONNULL error);

    /* Offers pixel format number `index`, best first (0 is the native one). CPI_END behind the last one. A host that does
       not know the native format takes the first offer that it knows. NULL: only the native format.
       [host - header and later - session thread] */
    cpi_status (*CPI_NULLABLE offer)(cpi_decoder *CPI_NONNULL decoder, uint32_t index,
                                     cpi_format_offer *CPI_NONNULL offer, cpi_error *CPI_NONNULL error);

    /* Answers in *width and *height the smallest size this decoder reduces the current picture to by itself that is
       not below the wanted size given there; the full size where it cannot. NULL: it never can.
       [host - header and later - session thread] */
    cpi_status (*CPI_NULLABLE reduced_size)(cpi_decoder *CPI_NONNULL decoder, uint32_t *CPI_NONNULL width,
                                            uint32_t *CPI_NONNULL height, cpi_error *CPI_NONNULL error);

    /* Steps to the next frame and says what it is. Cheap: pixel data that nobody asked for is skipped, not decoded.
       CPI_OK, CPI_END, CPI_NEED_INPUT or an error. [host - header, frame, decoded - session thread, may block] */
    cpi_status (*CPI_NONNULL next_frame)(cpi_decoder *CPI_NONNULL decoder, cpi_frame_info *CPI_NONNULL frame,
                                         cpi_error *CPI_NONNULL error);

    /* Arranges that next_frame answers frame *index, or an earlier one that has to be decoded first: the nearest from
       which *index can be rebuilt, written back to *index. CPI_OK, CPI_NEED_INPUT or an error. NULL: only to 0, by
       a new session.
       [host - header, frame, decoded - session thread] */
    cpi_status (*CPI_NULLABLE seek_frame)(cpi_decoder *CPI_NONNULL decoder, uint32_t *CPI_NONNULL index,
                                          cpi_error *CPI_NONNULL error);

    /* Decodes the current frame into request->surface, which has an offered format. CPI_OK: complete. CPI_PARTIAL: a
       part is there (see dirty) and the rest needs input. CPI_NEED_INPUT: nothing new yet. Called again after these
       two it goes on with the same surface. [host - frame, decoded - session thread, may block] */
    cpi_status (*CPI_NONNULL decode)(cpi_decoder *CPI_NONNULL decoder, const cpi_decode_request *CPI_NONNULL request,
                                     cpi_error *CPI_NONNULL error);

    /* Looks up an extension of this session by id. NULL for every id it does not know.
       [host - opened and later - session thread] */
    const void *CPI_NULLABLE (*CPI_NULLABLE get)(cpi_decoder *CPI_NONNULL decoder, const char *CPI_NONNULL id);

#if CPI_TARGET_MINOR >= 1
    /* Tells which part of the surface the last decode changed. NULL: all of it. Since 1.1.
       [host - decoded - session thread] */
    cpi_status (*CPI_NULLABLE dirty)(cpi_decoder *CPI_NONNULL decoder, cpi_rect *CPI_NONNULL rect,
                                     cpi_error *CPI_NONNULL error);
#endif
} cpi_decoder_api;

#endif
