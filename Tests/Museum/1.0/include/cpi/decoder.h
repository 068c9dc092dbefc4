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
 *        |   blob, offer, scaled_size, items: any time from here on                  |
 *        |   select of an item: back here, for that item                             |
 *        |                                      |                                    |
 *        |                          next_frame  |  CPI_NEED_INPUT: stay              |
 *        |   seek_frame                         |  CPI_END: no further frame, stay   |
 *        |   (any index)                        v                                    |
 *        |                                   [frame] -- next_frame (skips pixels) ---'
 *        |                                      |
 *        |                              decode  |  CPI_NEED_INPUT, CPI_PARTIAL: stay, call again
 *        |                                      |  CPI_REFUSED: stay, ask for something else
 *        |                                      v
 *        '-------------------------------- [decoded] -- decode again, or next_frame
 *
 *        dirty: in [frame] and [decoded], after a decode.
 *        close: legal in every state.  A negative status leads to [failed]: every call but close repeats it.
 *
 * One-shot decoding of a still: open, set_source, read_header, next_frame, decode, close.
 * A growing source uses the same calls: CPI_NEED_INPUT is an ordinary status, and the work done so far is kept.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CPI_DECODER_H
#define CPI_DECODER_H
#include "frame.h"
#include "host.h"
#include "io.h"
#include "option.h"
CPI_ASSUME_NONNULL_BEGIN

struct cpi_coder;
typedef struct cpi_decoder cpi_decoder; /* the plugin's; one decoding session */

/* A pixel format that a decoder can fill or an encoder takes, in its order of preference. */
typedef struct cpi_format_offer {
    uint32_t         size;
    uint32_t         flags;      /* none defined                                                             */
    cpi_pixel_format format;
    uint32_t         row_align;  /* bytes that stride and the first row's start are multiples of: 0, 1 or a
                                    power of two up to 64. The host gives such surfaces                    */
    uint32_t         reserved;   /* must be zero                                                             */
} cpi_format_offer;

#define CPI_DECODE_WANT_PARTIAL ((uint32_t)0x01)  /* hint: fill what there is and return CPI_PARTIAL */

/* What decode is asked for. Valid during the call; the surface it points to stays valid until decode returns CPI_OK or
   the session leaves the frame. */
typedef struct cpi_decode_request {
    uint32_t           size;
    uint32_t           flags;   /* CPI_DECODE_...                                                                  */
    const cpi_surface *surface; /* the target; its size is that of `region`, else of `scaled`, else of the frame   */
    cpi_rect           region;  /* part of the frame, in pixels of the scaled frame; all zero = the whole frame.
                                   Any rectangle inside the frame with CPI_CODER_REGION; its pixels are those of
                                   the whole. Bands with CPI_IMAGE_ROWS: whole rows, each band begins where the last
                                   one ended, the first one at row 0; a band at row 0 starts anew                  */
    uint32_t           scaled_width;  /* as answered by scaled_size; 0 = full size                                 */
    uint32_t           scaled_height;
} cpi_decode_request;

typedef struct cpi_decoder_api {
    uint32_t size;
    uint32_t reserved; /* must be zero */

    /* Begins a session. `services` and `limits` stay valid until close, `options` only during the call. An open that
       fails has freed everything; the host ignores *decoder then. [host - none - any thread] */
    cpi_status (*open)(const struct cpi_coder *coder, const cpi_services *services, const cpi_limits *limits,
                       const cpi_options *CPI_NULLABLE options, cpi_decoder *CPI_NULLABLE *CPI_NONNULL decoder,
                       cpi_error *error);

    /* Ends a session in whatever state it is; the pointer is invalid afterwards. [host - any - session thread] */
    void (*close)(cpi_decoder *decoder);

    /* Lends the input until close. Reads nothing yet. [host - opened - session thread] */
    cpi_status (*set_source)(cpi_decoder *decoder, const cpi_source *source, cpi_error *error);

    /* Reads the facts of the whole image and allocates no memory for pixels. CPI_OK, CPI_NEED_INPUT or an error.
       [host - sourced - session thread, may block] */
    cpi_status (*read_header)(cpi_decoder *decoder, cpi_image_info *info, cpi_error *error);

    /* Hands out metadata number `index`, from 0. CPI_OK, CPI_END behind the last one, CPI_NEED_INPUT, CPI_REFUSED (this
       one is damaged; the host warns and asks for the next) or an error. The blob stays valid until the next call on
       this decoder. Metadata that stands behind the pixels may appear only after decode.
       [host - header and later - session thread] */
    cpi_status (*CPI_NULLABLE blob)(cpi_decoder *decoder, uint32_t index, cpi_blob *blob, cpi_error *error);

    /* Offers pixel format number `index`, best first (0 is the native one). CPI_OK, CPI_END behind the last one. A host
       that does not know the native format takes the first offer that it knows. NULL: only the native format.
       [host - header and later - session thread] */
    cpi_status (*CPI_NULLABLE offer)(cpi_decoder *decoder, uint32_t index, cpi_format_offer *offer, cpi_error *error);

    /* Replaces the wanted size in *width and *height by the smallest size that this decoder itself scales the current
       image to and that is not below the wanted one; by the full size where there is none. With CPI_IMAGE_SCALABLE the
       wanted size is the answer, also above the full size. CPI_OK or CPI_REFUSED (the full size is the only one).
       NULL: the full size is always the only one. [host - header and later - session thread] */
    cpi_status (*CPI_NULLABLE scaled_size)(cpi_decoder *decoder, uint32_t *width, uint32_t *height, cpi_error *error);

    /* Steps to the next frame and reports its facts. Cheap: skips pixel data that was not asked for.
       CPI_OK, CPI_END, CPI_NEED_INPUT or an error. [host - header, frame, decoded - session thread, may block] */
    cpi_status (*next_frame)(cpi_decoder *decoder, cpi_frame_info *frame, cpi_error *error);

    /* Arranges that next_frame reports frame *index, or an earlier one that has to be decoded first: the nearest from
       which *index can be rebuilt, written back to *index. CPI_OK, CPI_NEED_INPUT, CPI_REFUSED (only by a new session)
       or an error. NULL: only by a new session. [host - header, frame, decoded - session thread] */
    cpi_status (*CPI_NULLABLE seek_frame)(cpi_decoder *decoder, uint32_t *index, cpi_error *error);

    /* Decodes the current frame into request->surface, which has an offered format. CPI_OK: complete. CPI_PARTIAL: a
       part is there (see dirty) and the rest needs input. CPI_NEED_INPUT: nothing new yet. Called again after these
       two it continues with the same surface and region. CPI_REFUSED: not this region or scaled size; the host decodes
       the whole frame and crops. A region outside the frame: CPI_REFUSED or CPI_INVALID_ARGUMENT. With CPI_TRUNCATED
       the rows that are written stay usable. [host - frame, decoded - session thread, may block] */
    cpi_status (*decode)(cpi_decoder *decoder, const cpi_decode_request *request, cpi_error *error);

    /* Reports which part of the surface the last decode changed. NULL: all of it.
       [host - frame, decoded: after a decode - session thread] */
    cpi_status (*CPI_NULLABLE dirty)(cpi_decoder *decoder, cpi_rect *rect, cpi_error *error);

    /* Looks up an extension of this session by id (see extension.h). NULL for every id it does not know; a table stays
       valid until close. [host - opened and later - session thread] */
    const void *CPI_NULLABLE (*CPI_NULLABLE get)(cpi_decoder *decoder, const char *id);
} cpi_decoder_api;

CPI_ASSUME_NONNULL_END
#endif
