/*
 * items.h - several images in one file: pages, sizes, alternatives, thumbnails, auxiliary images.
 *
 * A decoder whose image facts have CPI_IMAGE_ITEMS lists its items here. Every ordinary call (blob, offer, scaled_size,
 * next_frame, decode) concerns one item: the primary one after read_header, another one after select. Items differ in
 * everything: size, pixel format, orientation, color, metadata. Images that share one canvas and one clock are frames
 * of one item, not items.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CPI_ITEMS_H
#define CPI_ITEMS_H
#include "extension.h"
CPI_ASSUME_NONNULL_BEGIN

#define CPI_ITEM_PRIMARY     ((uint32_t)1)  /* the image of read_header; exactly one, of any number                   */
#define CPI_ITEM_PAGE        ((uint32_t)2)  /* an image of its own: a page, or a further image of a collection        */
#define CPI_ITEM_ALTERNATIVE ((uint32_t)3)  /* the same content otherwise: another size of an icon, another encoding  */
#define CPI_ITEM_LEVEL       ((uint32_t)4)  /* a smaller level of a pyramid; scaled_size of the item `of` uses it     */
#define CPI_ITEM_THUMBNAIL   ((uint32_t)5)  /* a small version of the item `of`; its aspect may differ                */
#define CPI_ITEM_AUXILIARY   ((uint32_t)6)  /* alpha, depth, gain map, ... of the item `of`; `kind` names it          */

#define CPI_ITEM_NONE ((uint32_t)0xffffffff)

/* One item. Strings stay valid until the next call on the decoder. */
typedef struct cpi_item {
    uint32_t                 size;
    uint32_t                 flags;    /* none defined                                                         */
    uint32_t                 role;     /* CPI_ITEM_...                                                         */
    uint32_t                 of;       /* number of the item that this one belongs to, or CPI_ITEM_NONE; 0 is item 0 */
    uint32_t                 group;    /* items of one group belong together (a burst, a stereo pair); 0 = none */
    uint32_t                 reserved; /* must be zero                                                         */
    const char *CPI_NULLABLE name;     /* as the file names it                                                 */
    const char *CPI_NULLABLE kind;     /* with AUXILIARY: a URN, e.g. "urn:com:apple:photo:2020:aux:hdrgainmap" */
} cpi_item;

#define CPI_EXT_ITEMS     "coderhost.items/1"
#define CPI_EXT_ITEMS_TAG ((uint64_t)0x08142fdfde858942)

typedef struct cpi_items_api {
    cpi_table table;

    /* Reports item number `index`, from 0, and the facts of its image. CPI_OK, CPI_END behind the last one,
       CPI_NEED_INPUT, CPI_REFUSED (this one is damaged; the host warns and goes on with the next) or an error.
       [host - header and later - session thread] */
    cpi_status (*describe)(cpi_decoder *decoder, uint32_t index, cpi_item *item, cpi_image_info *info,
                           cpi_error *error);

    /* Puts the session into [header] for item number `index`. CPI_OK, CPI_NEED_INPUT, CPI_REFUSED (it cannot be
       decoded; the session stays where it is) or an error. [host - header and later - session thread] */
    cpi_status (*select)(cpi_decoder *decoder, uint32_t index, cpi_error *error);

    /* Tells how many items there are. CPI_OK, CPI_NEED_INPUT, or CPI_REFUSED where only describe finds out. NULL: only
       describe finds out. [host - header and later - session thread] */
    cpi_status (*CPI_NULLABLE count)(cpi_decoder *decoder, uint32_t *count, cpi_error *error);
} cpi_items_api;

/* Thumbnails to embed. The host makes them; a coder that scales by itself does not need this. */
#define CPI_EXT_THUMBNAIL_ENCODE     "coderhost.thumbnail-encode/1"
#define CPI_EXT_THUMBNAIL_ENCODE_TAG ((uint64_t)0x1d71351a85f403bf)

typedef struct cpi_thumbnail_encode_api {
    cpi_table table;

    /* Hands over a small version of the image, GRAY8 or RGB8, turned as the frame will be; the pixels are valid only
       during the call. A second one may replace the first. CPI_OK, CPI_REFUSED (this output has no thumbnail) or an
       error. [host - begun, before the first frame - session thread, may block] */
    cpi_status (*add)(cpi_encoder *encoder, const cpi_surface *surface, cpi_error *error);
} cpi_thumbnail_encode_api;

/* Several stills in one output, with CPI_CODER_ENCODE_ITEMS. The host calls next_item before each of them, also before
   the first; accept, begin (with the same sink), add_blob and add_frame or rows follow for this item, and finish once,
   after the last one. Items differ in everything, as those of a decoder. */
#define CPI_EXT_ENCODE_ITEMS     "coderhost.encode-items/1"
#define CPI_EXT_ENCODE_ITEMS_TAG ((uint64_t)0x09d4db2772f7d725)

typedef struct cpi_encode_items_api {
    cpi_table table;

    /* Puts the session into [opened] for the next item and completes the one before. Items have the numbers 0, 1, ...
       in the order of these calls; number 0 is the primary one, and `of` names an earlier one. CPI_OK, CPI_REFUSED (the
       output holds no item of this role, or no further one; the state stays) or an error.
       [host - opened, framed - session thread, may block] */
    cpi_status (*next_item)(cpi_encoder *encoder, const cpi_item *item, cpi_error *error);
} cpi_encode_items_api;

CPI_ASSUME_NONNULL_END
#endif
