#include "internal.h"

/*
 * Decodes a part of an image; its pixels equal those of the whole image exactly.
 *
 *     0 ....................  rows above: read, but not transformed
 *          .--------------.   one unit (row of MCUs), whose samples affect the edge of the part
 *          |  .--------.  |
 *          |  |  part  |  |   columns left and right of it, likewise; with several scans all columns
 *          |  '--------'  |
 *          '--------------'   rows below: with one scan not read
 *
 * The library interpolates chroma samples from their neighbors, so the requested part is one unit larger on each
 * side than the kept part.
 */

/* The number of pixels that one call skips; the caller polls between two calls. */
#define SKIPPED_PIXELS (4u << 20)
/* The number of rows that one call writes. */
#define WRITTEN_ROWS   64u

static uint32_t bytes_per_pixel(uint32_t format) {
    switch (format) {
    case JPEGS_GRAY: return 1;
    case JPEGS_RGB:  return 3;
    default:         return 4;
    }
}

static uint32_t unit_width(j_decompress_ptr c) { return (uint32_t)(c->max_h_samp_factor * c->min_DCT_scaled_size); }
static uint32_t unit_height(j_decompress_ptr c) { return (uint32_t)(c->max_v_samp_factor * c->min_DCT_scaled_size); }

/* Makes the library skip the columns that the part does not need. */
static void crop_columns(j_decompress_ptr c, part_output *part) {
    uint32_t unit = unit_width(c), width = c->output_width;
    uint32_t left = part->wanted.x / unit, right = (part->wanted.x + part->wanted.width - 1) / unit + 2;
    JDIMENSION x = left > 0 ? (left - 1) * unit : 0;
    JDIMENSION count = (right < width / unit ? right * unit : width) - x;
    if (count == width) return;
    jpeg_crop_scanline(c, &x, &count);
    part->left = x;
    /* The library ignores that components may be scaled by different factors. */
    for (int i = 0; i < c->num_components; i++) {
        jpeg_component_info *p = &c->comp_info[i];
        uint64_t             samples = (uint64_t)c->output_width * (uint64_t)(p->h_samp_factor * p->DCT_scaled_size);
        p->downsampled_width = (JDIMENSION)((samples + unit - 1) / unit);
    }
}

int32_t jpegs_decoder_part(jpegs_decoder *d, const jpegs_part *part) {
    GUARD(d);
    j_decompress_ptr c = d->out;
    if (part->width == 0 || part->height == 0 || part->x >= c->output_width || part->y >= c->output_height ||
        part->width > c->output_width - part->x || part->height > c->output_height - part->y || !d->complete) {
        return JPEGS_CORRUPT;
    }
    d->part.wanted = *part;
    d->part.left = 0;
    if (!c->buffered_image) crop_columns(c, &d->part);
    free(d->part.strip);
    d->part.strip = malloc((size_t)c->output_width * bytes_per_pixel(d->out_target.format) * STRIP);
    return d->part.strip ? JPEGS_OK : JPEGS_NO_MEMORY;
}

/* Skips rows; 0 if there are none left to skip. */
static int skip_rows(j_decompress_ptr c, uint32_t y) {
    uint32_t unit = unit_height(c), first = y / unit > 1 ? (y / unit - 1) * unit : 0;
    if (c->output_scanline >= first) return 0;
    uint32_t slice = SKIPPED_PIXELS / c->image_width / unit * unit;
    uint32_t most = slice > 4 * unit ? slice : 4 * unit, left = first - c->output_scanline;
    jpeg_skip_scanlines(c, left < most ? left : most);
    return 1;
}

static int32_t starved_part(jpegs_decoder *d, uint32_t *row) {
    const jpegs_part *part = &d->part.wanted;
    uint32_t          whole = d->ended_at > part->y ? d->ended_at - part->y : 0;
    *row = whole < part->height ? whole : part->height;
    return JPEGS_TRUNCATED;
}

int32_t jpegs_decoder_part_rows(jpegs_decoder *d, uint8_t *pixels, size_t stride, uint32_t *row) {
    GUARD(d);
    j_decompress_ptr  c = d->out;
    const jpegs_part *part = &d->part.wanted;
    if (!d->part.strip) return JPEGS_CORRUPT;
    if (skip_rows(c, part->y)) return d->starved && !c->buffered_image ? starved_part(d, row) : JPEGS_MORE;
    size_t   pixel = bytes_per_pixel(d->out_target.format), line = (size_t)c->output_width * pixel;
    size_t   from = (part->x - d->part.left) * pixel, kept = (size_t)part->width * pixel;
    uint32_t end = part->y + part->height;
    for (uint32_t done = 0; done < WRITTEN_ROWS && c->output_scanline < end;) {
        uint32_t at = c->output_scanline, wanted = end - at < STRIP ? end - at : STRIP;
        if (at < part->y && wanted > part->y - at) wanted = part->y - at;
        uint32_t got = jpegs_read_strip(d, d->part.strip, line, wanted);
        if (d->starved && !c->buffered_image) return starved_part(d, row);
        if (got == 0) return JPEGS_CORRUPT; /* never with a complete input */
        for (uint32_t i = 0; at >= part->y && i < got; i++) {
            memcpy(pixels + stride * (at - part->y + i), d->part.strip + line * i + from, kept);
        }
        done += got;
        *row = c->output_scanline > part->y ? c->output_scanline - part->y : 0;
    }
    return c->output_scanline < end ? JPEGS_MORE : JPEGS_OK;
}
