#include "internal.h"

#include <limits.h>

/* round(a * b / 255), exact for all bytes. */
static inline uint8_t scaled(uint32_t a, uint32_t b) {
    uint32_t x = a * b + 128;
    return (uint8_t)((x + (x >> 8)) >> 8);
}

void jpegs_aim(j_decompress_ptr c, target t) {
    int cmyk = c->jpeg_color_space == JCS_CMYK || c->jpeg_color_space == JCS_YCCK;
    c->out_color_space = cmyk                     ? JCS_CMYK
                         : t.format == JPEGS_GRAY ? JCS_GRAYSCALE
                         : t.format == JPEGS_RGBA ? JCS_EXT_RGBA
                         : t.format == JPEGS_BGRA ? JCS_EXT_BGRA
                                                  : JCS_EXT_RGB;
    c->scale_num = t.scale;
    c->scale_denom = 8;
    c->buffered_image = jpeg_has_multiple_scans(c);
    if (t.plain) c->do_fancy_upsampling = FALSE;
    if (t.plain > 1) c->dct_method = JDCT_IFAST;
}

int32_t jpegs_select_output(jpegs_decoder *d, j_decompress_ptr out, target t) {
    d->out = out;
    d->out_target = t;
    if (out->out_color_space == JCS_CMYK && t.format != JPEGS_CMYK && d->strip_width < out->output_width) {
        free(d->strip);
        d->strip_width = 0;
        d->strip = malloc((size_t)out->output_width * 4 * STRIP);
        if (!d->strip) return JPEGS_NO_MEMORY;
        d->strip_width = out->output_width;
    }
    return JPEGS_OK;
}

/* ---- a view: another output of the decoder's coefficients ---- */

static void view_nothing(j_decompress_ptr c) { (void)c; }

/* A view reads only the header. */
static boolean view_fill(j_decompress_ptr c) {
    ERREXIT(c, JERR_INPUT_EMPTY);
    return FALSE;
}

static void view_skip(j_decompress_ptr c, long count) {
    if (count <= 0) return;
    if ((size_t)count > c->src->bytes_in_buffer) ERREXIT(c, JERR_INPUT_EMPTY);
    c->src->next_input_byte += count;
    c->src->bytes_in_buffer -= (size_t)count;
}

static jvirt_barray_ptr lend_array(j_common_ptr c, int pool, boolean zero, JDIMENSION blocks, JDIMENSION rows,
                                   JDIMENSION access) {
    (void)pool, (void)zero, (void)blocks, (void)rows, (void)access;
    jpegs_decoder *d = c->client_data;
    if (d->lent >= d->components) ERREXIT(c, JERR_BAD_VIRTUAL_ACCESS);
    return jpeg_read_coefficients(&d->c)[d->lent++];
}

/* The library fixes the scale and colors of an output, and keeps the coefficients in arrays from its memory manager,
   one for each component. So a second decoder reads the header once more, and receives the arrays of the first one when
   it requests arrays. Its input position is set far ahead, so that it never reads a scan. This takes a few
   microseconds, and memory for a few rows. */
static void open_view(jpegs_decoder *d, target t) {
    j_decompress_ptr v = &d->view;
    if (d->has_view) jpeg_destroy_decompress(v);
    d->has_view = 0;
    memset(v, 0, sizeof *v);
    v->err = &d->error;
    v->client_data = d;
    jpeg_create_decompress(v);
    d->has_view = 1;
    d->view_source = (struct jpeg_source_mgr){
        d->base, d->head, view_nothing, view_fill, view_skip, jpeg_resync_to_restart, view_nothing};
    v->src = &d->view_source;
    jpeg_read_header(v, TRUE);
    jpegs_aim(v, t);
    d->lent = 0;
    v->mem->request_virt_barray = lend_array;
    jpegs_arrays_share((j_common_ptr)v);
    jpeg_start_decompress(v);
    v->input_scan_number = INT_MAX;
    v->do_block_smoothing = FALSE;
    d->view_target = t;
}

int32_t jpegs_decoder_begin_pass(jpegs_decoder *d, uint32_t format, uint32_t scale, uint32_t quality,
                                 uint32_t *width, uint32_t *height) {
    GUARD(d);
    int coarse = quality == JPEGS_COARSE;
    target t = {format, coarse ? 1 : scale, quality == JPEGS_BEST ? 0 : quality == JPEGS_QUICK ? 2 : 1};
    int main = t.format == d->main_target.format && t.scale == d->main_target.scale && !t.plain;
    if (!main && (!d->has_view || memcmp(&t, &d->view_target, sizeof t) != 0)) open_view(d, t);
    int32_t status = jpegs_select_output(d, main ? &d->c : &d->view, t);
    if (status != JPEGS_OK) return status;
    /* Scans skipped on purpose must not enable block smoothing. */
    if (d->gap_count > 0) d->out->do_block_smoothing = FALSE;
    /* The library records tables when the first scan of a component begins, which a view does not read. */
    for (int i = 0; !main && i < d->components; i++) {
        d->view.comp_info[i].quant_table = d->c.comp_info[i].quant_table;
    }
    if (!jpeg_start_output(d->out, main ? d->c.input_scan_number : 1)) return JPEGS_NEEDS_INPUT;
    *width = coarse ? d->width : d->out->output_width;
    *height = coarse ? d->height : d->out->output_height;
    jpegs_enlarger_free(d->enlarger);
    d->enlarger = NULL;
    if (coarse) {
        uint32_t channels = format == JPEGS_GRAY ? 1 : format == JPEGS_RGB ? 3 : 4;
        d->enlarger = jpegs_enlarger_new(d->out->output_width, d->out->output_height, *width, channels);
        if (!d->enlarger) return JPEGS_NO_MEMORY;
    }
    return JPEGS_OK;
}

int32_t jpegs_decoder_end_pass(jpegs_decoder *d) {
    GUARD(d);
    jpegs_enlarger_free(d->enlarger);
    d->enlarger = NULL;
    return jpeg_finish_output(d->out) ? JPEGS_OK : JPEGS_NEEDS_INPUT;
}

/* ---- rows ---- */

/* The file stores ink inverted, so each byte is already 255 - ink. */
static void cmyk_to_rgb(const jpegs_decoder *d, const uint8_t *in, uint8_t *out) {
    int r = d->out_target.format == JPEGS_BGRA ? 2 : 0;
    int step = d->out_target.format == JPEGS_RGB ? 3 : 4;
    for (JDIMENSION x = 0; x < d->out->output_width; x++, in += 4, out += step) {
        out[r] = scaled(in[0], in[3]);
        out[1] = scaled(in[1], in[3]);
        out[2 - r] = scaled(in[2], in[3]);
        if (step == 4) out[3] = 255;
    }
}

JDIMENSION jpegs_read_strip(jpegs_decoder *d, uint8_t *pixels, size_t stride, JDIMENSION wanted) {
    JSAMPROW rows[STRIP];
    size_t   width = d->out->output_width;
    int      inked = d->out->out_color_space == JCS_CMYK;
    int      to_rgb = inked && d->out_target.format != JPEGS_CMYK;
    for (JDIMENSION i = 0; i < wanted; i++) rows[i] = to_rgb ? d->strip + width * 4 * i : pixels + stride * i;
    JDIMENSION got = jpeg_read_scanlines(d->out, rows, wanted);
    for (JDIMENSION i = 0; inked && i < got; i++) {
        if (to_rgb) {
            cmyk_to_rgb(d, rows[i], pixels + stride * i);
        } else {
            jpegs_invert(rows[i], width * 4);
        }
    }
    return got;
}

static int32_t coarse_rows(jpegs_decoder *d, uint8_t *pixels, size_t stride, uint32_t top, uint32_t *row,
                           uint32_t count) {
    for (; count > 0 && *row < d->height; count--, ++*row) {
        uint8_t *next = jpegs_enlarger_wants(d->enlarger, *row);
        if (next && jpegs_read_strip(d, next, 0, 1) == 0) return JPEGS_NEEDS_INPUT;
        jpegs_enlarger_row(d->enlarger, *row, pixels + stride * (*row - top));
    }
    return JPEGS_OK;
}

int32_t jpegs_decoder_rows(jpegs_decoder *d, uint8_t *pixels, size_t stride, uint32_t top, uint32_t *row,
                           uint32_t count) {
    GUARD(d);
    if (*row < top) return JPEGS_CORRUPT;
    if (d->enlarger) return coarse_rows(d, pixels, stride, top, row, count);
    while (count > 0 && d->out->output_scanline < d->out->output_height) {
        JDIMENSION at = d->out->output_scanline;
        if (at < top) return JPEGS_CORRUPT;
        JDIMENSION wanted = count < STRIP ? count : STRIP;
        if (wanted > d->out->output_height - at) wanted = d->out->output_height - at;
        JDIMENSION got = jpegs_read_strip(d, pixels + stride * (at - top), stride, wanted);
        if (d->starved && !d->c.buffered_image) {
            *row = d->ended_at;
            return JPEGS_TRUNCATED;
        }
        if (got == 0) return JPEGS_NEEDS_INPUT;
        count -= got;
        *row = d->out->output_scanline;
    }
    return JPEGS_OK;
}
