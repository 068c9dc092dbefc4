#include "jpeg_shim.h"

#include <limits.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

#include "enlarger.h"

/* Rows of one jpeg_read_scanlines or jpeg_write_scanlines call. */
#define STRIP 8
/* Rows of blocks that one absorb call takes in; the caller asks for cancellation between two calls. */
#define SLICE 4

static int32_t status_of(int code) {
    switch (code) {
    case JERR_NO_SOI:
        return JPEGS_NOT_MINE;
    case JERR_SOF_UNSUPPORTED:
    case JERR_BAD_PRECISION:
    case JERR_COMPONENT_COUNT:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_ARITH_NOTIMPL:
    case JERR_CCIR601_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_IMAGE_TOO_BIG:
        return JPEGS_UNSUPPORTED;
    case JERR_OUT_OF_MEMORY:
        return JPEGS_NO_MEMORY;
    default:
        return JPEGS_CORRUPT;
    }
}

/* round(a * b / 255), exact for all bytes. */
static inline uint8_t scaled(uint32_t a, uint32_t b) {
    uint32_t x = a * b + 128;
    return (uint8_t)((x + (x >> 8)) >> 8);
}

/* ---- decoding ---- */

/* What pixels come out as. */
typedef struct target {
    uint32_t format, scale;
    int      plain;
} target;

struct jpegs_decoder {
    struct jpeg_decompress_struct c;          /* client_data leads back here, from `view` as well         */
    struct jpeg_decompress_struct view;       /* other outputs of the same coefficients, see open_view    */
    struct jpeg_decompress_struct *out;       /* the one of the two that rows come from                   */
    target                        main_target, view_target, out_target;
    struct jpeg_error_mgr         error;
    struct jpeg_source_mgr        source, view_source;
    jmp_buf                       jump;
    const uint8_t                *base;
    size_t                        head;       /* bytes up to and with the header of the first scan        */
    size_t                        skip;       /* bytes still to skip once they have arrived               */
    int                           complete;   /* no further byte will come                                */
    int                           started;    /* the library has begun                                    */
    int                           has_view;
    int                           ended;      /* the library was told that the input ends here            */
    int                           starved;    /* and asked for samples behind that end                    */
    uint32_t                      ended_at;   /* rows that had been written by then                       */
    jpegs_scan                    scan;
    uint32_t                      seen;       /* components that a scan was read for, one bit each        */
    JDIMENSION                    strip_width;
    uint8_t                      *strip;      /* CMYK rows on their way to RGB                            */
    jpegs_enlarger               *enlarger;   /* of a coarse pass                                         */
    int                           lent;       /* coefficient arrays that the view was given so far        */
    uint32_t                      warnings;
    char                          message[JMSG_LENGTH_MAX];
    char                          warning[JMSG_LENGTH_MAX];
};

static const JOCTET end_of_image[2] = {0xFF, JPEG_EOI};

static void decoder_exit(j_common_ptr c) {
    jpegs_decoder *d = c->client_data;
    d->error.format_message(c, d->message);
    longjmp(d->jump, 1);
}

static void decoder_emit(j_common_ptr c, int level) {
    jpegs_decoder *d = c->client_data;
    /* What a view complains of was said when the header was read for the first time. */
    if (level >= 0 || c == (j_common_ptr)&d->view) return;
    if (d->ended && d->error.msg_code != JWRN_JPEG_EOF) d->starved = 1;
    if (d->warnings++ == 0) d->error.format_message(c, d->warning);
    d->error.num_warnings++;
}

static void quiet(j_common_ptr c) { (void)c; }

static void source_init(j_decompress_ptr c) { (void)c; }
static void source_term(j_decompress_ptr c) { (void)c; }

static boolean source_fill(j_decompress_ptr c) {
    jpegs_decoder *d = c->client_data;
    if (!d->complete) return FALSE;
    if (!d->ended) {
        d->ended = 1;
        d->ended_at = c->output_scanline;
        /* The arithmetic decoder does not say when it runs dry. */
        if (c->arith_code) d->starved = 1;
        WARNMS(c, JWRN_JPEG_EOF);
    }
    d->source.next_input_byte = end_of_image;
    d->source.bytes_in_buffer = sizeof end_of_image;
    return TRUE;
}

static void source_skip(j_decompress_ptr c, long count) {
    jpegs_decoder *d = c->client_data;
    if (count <= 0) return;
    size_t wanted = (size_t)count;
    size_t there = d->source.bytes_in_buffer < wanted ? d->source.bytes_in_buffer : wanted;
    d->source.next_input_byte += there;
    d->source.bytes_in_buffer -= there;
    if (!d->ended) d->skip += wanted - there;
}

/* A view reads the header alone. */
static boolean view_source_fill(j_decompress_ptr c) {
    ERREXIT(c, JERR_INPUT_EMPTY);
    return FALSE;
}

static void view_source_skip(j_decompress_ptr c, long count) {
    if (count <= 0) return;
    if ((size_t)count > c->src->bytes_in_buffer) ERREXIT(c, JERR_INPUT_EMPTY);
    c->src->next_input_byte += count;
    c->src->bytes_in_buffer -= (size_t)count;
}

static int32_t decoder_failure(jpegs_decoder *d) {
    int32_t status = status_of(d->error.msg_code);
    /* ITU-T T.81 B.2.5: a height of 0 announces a DNL marker behind the first scan. */
    if (d->error.msg_code == JERR_EMPTY_IMAGE && d->c.image_height == 0 && d->c.image_width > 0) {
        return JPEGS_UNSUPPORTED;
    }
    if (d->ended && status == JPEGS_CORRUPT) return JPEGS_TRUNCATED;
    return status;
}

#define GUARD(d) \
    if (setjmp((d)->jump)) return decoder_failure(d)

jpegs_decoder *jpegs_decoder_new(void) {
    jpegs_decoder *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    d->c.err = jpeg_std_error(&d->error);
    d->c.client_data = d;
    d->error.error_exit = decoder_exit;
    d->error.emit_message = decoder_emit;
    d->error.output_message = quiet;
    if (setjmp(d->jump)) {
        jpegs_decoder_free(d);
        return NULL;
    }
    jpeg_create_decompress(&d->c);
    d->source.init_source = source_init;
    d->source.fill_input_buffer = source_fill;
    d->source.skip_input_data = source_skip;
    d->source.resync_to_restart = jpeg_resync_to_restart;
    d->source.term_source = source_term;
    d->c.src = &d->source;
    d->out = &d->c;
    return d;
}

void jpegs_decoder_free(jpegs_decoder *d) {
    if (!d) return;
    if (d->has_view) jpeg_destroy_decompress(&d->view);
    jpeg_destroy_decompress(&d->c);
    jpegs_enlarger_free(d->enlarger);
    free(d->strip);
    free(d);
}

void jpegs_decoder_input(jpegs_decoder *d, const uint8_t *bytes, size_t available, int32_t complete) {
    if (d->ended) return;
    size_t consumed = d->base ? (size_t)(d->source.next_input_byte - d->base) : 0;
    if (consumed > available) consumed = available;
    size_t left = available - consumed;
    size_t skipped = d->skip < left ? d->skip : left;
    d->skip -= skipped;
    d->base = bytes;
    d->source.next_input_byte = bytes + consumed + skipped;
    d->source.bytes_in_buffer = left - skipped;
    d->complete = complete != 0;
}

int32_t jpegs_decoder_header(jpegs_decoder *d, jpegs_info *info) {
    memset(info, 0, sizeof *info);
    if (setjmp(d->jump)) {
        /* The library refuses what is too large for it before anybody can ask for the size. */
        info->width = d->c.image_width;
        info->height = d->c.image_height;
        return decoder_failure(d);
    }
    if (jpeg_read_header(&d->c, TRUE) == JPEG_SUSPENDED) return JPEGS_NEEDS_INPUT;
    d->head = (size_t)(d->source.next_input_byte - d->base);
    info->width = d->c.image_width;
    info->height = d->c.image_height;
    info->components = (uint32_t)d->c.num_components;
    switch (d->c.jpeg_color_space) {
    case JCS_GRAYSCALE: info->color = JPEGS_GRAY; break;
    case JCS_RGB:
    case JCS_YCbCr:     info->color = JPEGS_RGB; break;
    case JCS_CMYK:
    case JCS_YCCK:      info->color = JPEGS_CMYK; break;
    default:            info->color = 0; break;
    }
    info->multi_scan = jpeg_has_multiple_scans(&d->c) ? 1 : 0;
    info->arithmetic = d->c.arith_code ? 1 : 0;
    info->has_jfif = d->c.saw_JFIF_marker ? 1 : 0;
    info->density_unit = d->c.density_unit;
    info->density_x = d->c.X_density;
    info->density_y = d->c.Y_density;
    for (int i = 0; info->multi_scan && i < d->c.num_components; i++) {
        /* As the library rounds: to whole MCUs of a scan of all components. */
        const jpeg_component_info *p = &d->c.comp_info[i];
        uint64_t across = (uint64_t)p->width_in_blocks + (uint64_t)p->h_samp_factor - 1;
        uint64_t down = (uint64_t)p->height_in_blocks + (uint64_t)p->v_samp_factor - 1;
        across -= across % (uint64_t)p->h_samp_factor;
        down -= down % (uint64_t)p->v_samp_factor;
        info->coefficient_bytes += across * down * sizeof(JBLOCK);
    }
    return JPEGS_OK;
}

/* Notes the scan whose header was read. Later on, the library's own fields may be half those of the next one. */
static void note_scan(jpegs_decoder *d) {
    d->scan.number = (uint32_t)d->c.input_scan_number;
    d->scan.components = 0;
    for (int i = 0; i < d->c.comps_in_scan; i++) {
        d->scan.components |= 1u << (d->c.cur_comp_info[i]->component_index & 31);
    }
    d->seen |= d->scan.components;
    /* A sequential scan may say anything there. */
    d->scan.first = d->c.progressive_mode ? (uint32_t)d->c.Ss : 0;
    d->scan.last = d->c.progressive_mode ? (uint32_t)d->c.Se : DCTSIZE2 - 1;
    d->scan.high = d->c.progressive_mode ? (uint32_t)d->c.Ah : 0;
    d->scan.low = d->c.progressive_mode ? (uint32_t)d->c.Al : 0;
}

static void aim(j_decompress_ptr c, target t) {
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
}

/* Makes `out` the source of rows of that kind. */
static int32_t select_output(jpegs_decoder *d, j_decompress_ptr out, target t) {
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

int32_t jpegs_decoder_start(jpegs_decoder *d, uint32_t format, uint32_t scale, uint32_t *width, uint32_t *height) {
    GUARD(d);
    if (!d->started) {
        d->main_target = (target){format, scale, 0};
        aim(&d->c, d->main_target);
        if (!jpeg_start_decompress(&d->c)) return JPEGS_NEEDS_INPUT;
        d->started = 1;
        note_scan(d);
        int32_t status = select_output(d, &d->c, d->main_target);
        if (status != JPEGS_OK) return status;
    }
    *width = d->c.output_width;
    *height = d->c.output_height;
    return JPEGS_OK;
}

int32_t jpegs_decoder_absorb(jpegs_decoder *d) {
    GUARD(d);
    for (int i = 0; i < SLICE; i++) {
        switch (jpeg_consume_input(&d->c)) {
        case JPEG_SUSPENDED:   return JPEGS_NEEDS_INPUT;
        case JPEG_REACHED_EOI: return JPEGS_OK;
        case JPEG_REACHED_SOS: note_scan(d); return JPEGS_MORE;
        default:               break;
        }
    }
    return JPEGS_MORE;
}

void jpegs_decoder_scan(const jpegs_decoder *d, jpegs_scan *scan) { *scan = d->scan; }

/* ---- a view: another output of the coefficients that the decoder holds ---- */

static jvirt_barray_ptr lend_array(j_common_ptr c, int pool, boolean zero, JDIMENSION blocks, JDIMENSION rows,
                                   JDIMENSION access) {
    (void)pool, (void)zero, (void)blocks, (void)rows, (void)access;
    jpegs_decoder *d = c->client_data;
    if (d->lent >= d->c.num_components) ERREXIT(c, JERR_BAD_VIRTUAL_ACCESS);
    return jpeg_read_coefficients(&d->c)[d->lent++];
}

/* The library fixes scale and colours of an output for good, and holds the coefficients in arrays that it asks its
   memory manager for, one for each component. So a second decoder reads the header once more, is handed the arrays of
   the first where it asks for some, and is told that its input is far ahead, so that it never reads a scan: all of
   that costs some microseconds, and no memory but a few rows. */
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
        d->base, d->head, source_init, view_source_fill, view_source_skip, jpeg_resync_to_restart, source_term};
    v->src = &d->view_source;
    jpeg_read_header(v, TRUE);
    aim(v, t);
    d->lent = 0;
    v->mem->request_virt_barray = lend_array;
    jpeg_start_decompress(v);
    v->input_scan_number = INT_MAX;
    v->do_block_smoothing = FALSE;
    d->view_target = t;
}

int32_t jpegs_decoder_begin_pass(jpegs_decoder *d, uint32_t format, uint32_t scale, uint32_t quality,
                                 uint32_t *width, uint32_t *height) {
    GUARD(d);
    int coarse = quality == JPEGS_COARSE;
    target t = {format, coarse ? 1 : scale, quality != JPEGS_BEST};
    int main = t.format == d->main_target.format && t.scale == d->main_target.scale && !t.plain;
    if (!main && (!d->has_view || memcmp(&t, &d->view_target, sizeof t) != 0)) open_view(d, t);
    int32_t status = select_output(d, main ? &d->c : &d->view, t);
    if (status != JPEGS_OK) return status;
    /* Tables are noted when the first scan of a component begins, which a view does not read. */
    for (int i = 0; !main && i < d->c.num_components; i++) {
        d->view.comp_info[i].quant_table = d->c.comp_info[i].quant_table;
    }
    if (!jpeg_start_output(d->out, main ? d->c.input_scan_number : 1)) return JPEGS_NEEDS_INPUT;
    *width = coarse ? d->c.image_width : d->out->output_width;
    *height = coarse ? d->c.image_height : d->out->output_height;
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

static void invert(uint8_t *row, size_t count) {
    for (size_t i = 0; i < count; i++) row[i] = (uint8_t)(255 - row[i]);
}

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

/* Writes the next `wanted` rows, at most STRIP; answers how many there were. */
static JDIMENSION read_strip(jpegs_decoder *d, uint8_t *pixels, size_t stride, JDIMENSION wanted) {
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
            invert(rows[i], width * 4);
        }
    }
    return got;
}

static int32_t coarse_rows(jpegs_decoder *d, uint8_t *pixels, size_t stride, uint32_t *row, uint32_t count) {
    for (; count > 0 && *row < d->c.image_height; count--, ++*row) {
        uint8_t *next = jpegs_enlarger_wants(d->enlarger, *row);
        if (next && read_strip(d, next, 0, 1) == 0) return JPEGS_NEEDS_INPUT;
        jpegs_enlarger_row(d->enlarger, *row, pixels + stride * *row);
    }
    return JPEGS_OK;
}

int32_t jpegs_decoder_rows(jpegs_decoder *d, uint8_t *pixels, size_t stride, uint32_t *row, uint32_t count) {
    GUARD(d);
    if (d->enlarger) return coarse_rows(d, pixels, stride, row, count);
    while (count > 0 && d->out->output_scanline < d->out->output_height) {
        JDIMENSION at = d->out->output_scanline;
        JDIMENSION wanted = count < STRIP ? count : STRIP;
        if (wanted > d->out->output_height - at) wanted = d->out->output_height - at;
        JDIMENSION got = read_strip(d, pixels + stride * at, stride, wanted);
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

int32_t jpegs_decoder_is_truncated(const jpegs_decoder *d) {
    if (!d->ended) return 0;
    if (d->starved) return 1;
    if (!d->c.buffered_image) return 0;
    for (int i = 0; i < d->c.num_components; i++) {
        if (!(d->seen & 1u << i)) return 1;
        /* coef_bits: bits still missing of each coefficient, -1 = all of them. */
        for (int k = 0; d->c.coef_bits && k < DCTSIZE2; k++) {
            if (d->c.coef_bits[i][k] != 0) return 1;
        }
    }
    return 0;
}

const char *jpegs_decoder_message(const jpegs_decoder *d) { return d->message; }
const char *jpegs_decoder_warning(const jpegs_decoder *d) { return d->warning; }
uint32_t    jpegs_decoder_warning_count(const jpegs_decoder *d) { return d->warnings; }

/* ---- encoding ---- */

#define OUTPUT_BYTES 65536

struct jpegs_encoder {
    struct jpeg_compress_struct  c; /* first: the library's pointer is ours */
    struct jpeg_error_mgr        error;
    struct jpeg_destination_mgr  destination;
    struct jpeg_progress_mgr     progress;
    jmp_buf                      jump;
    jpegs_callbacks              callbacks;
    int                          stopped;
    uint32_t                     format;
    uint32_t                     polls;
    uint8_t                     *strip; /* CMYK rows, inverted on their way to the file */
    uint8_t                     *output;
    char                         message[JMSG_LENGTH_MAX];
};

static void encoder_exit(j_common_ptr c) {
    jpegs_encoder *e = (jpegs_encoder *)c;
    e->error.format_message(c, e->message);
    longjmp(e->jump, 1);
}

static void encoder_emit(j_common_ptr c, int level) {
    (void)c;
    (void)level;
}

static void encoder_stop(jpegs_encoder *e) {
    e->stopped = 1;
    longjmp(e->jump, 1);
}

static void encoder_progress(j_common_ptr c) {
    jpegs_encoder *e = (jpegs_encoder *)c;
    if (e->polls++ % 4 == 0 && e->callbacks.poll(e->callbacks.context) != 0) encoder_stop(e);
}

static void destination_init(j_compress_ptr c) {
    jpegs_encoder *e = (jpegs_encoder *)c;
    e->destination.next_output_byte = e->output;
    e->destination.free_in_buffer = OUTPUT_BYTES;
}

static boolean destination_empty(j_compress_ptr c) {
    jpegs_encoder *e = (jpegs_encoder *)c;
    if (e->callbacks.write(e->callbacks.context, e->output, OUTPUT_BYTES) != 0) encoder_stop(e);
    destination_init(c);
    return TRUE;
}

static void destination_term(j_compress_ptr c) {
    jpegs_encoder *e = (jpegs_encoder *)c;
    size_t count = OUTPUT_BYTES - e->destination.free_in_buffer;
    if (count > 0 && e->callbacks.write(e->callbacks.context, e->output, count) != 0) encoder_stop(e);
}

#define ENCODER_GUARD(e) \
    if (setjmp((e)->jump)) return (e)->stopped ? JPEGS_STOPPED : status_of((e)->error.msg_code)

jpegs_encoder *jpegs_encoder_new(const jpegs_callbacks *callbacks) {
    jpegs_encoder *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    e->c.err = jpeg_std_error(&e->error);
    e->error.error_exit = encoder_exit;
    e->error.emit_message = encoder_emit;
    e->error.output_message = quiet;
    e->callbacks = *callbacks;
    e->output = malloc(OUTPUT_BYTES);
    if (!e->output || setjmp(e->jump)) {
        jpegs_encoder_free(e);
        return NULL;
    }
    jpeg_create_compress(&e->c);
    e->destination.init_destination = destination_init;
    e->destination.empty_output_buffer = destination_empty;
    e->destination.term_destination = destination_term;
    e->c.dest = &e->destination;
    e->progress.progress_monitor = encoder_progress;
    e->c.progress = &e->progress;
    return e;
}

void jpegs_encoder_free(jpegs_encoder *e) {
    if (!e) return;
    jpeg_destroy_compress(&e->c);
    free(e->strip);
    free(e->output);
    free(e);
}

int32_t jpegs_encoder_start(jpegs_encoder *e, const jpegs_settings *s) {
    ENCODER_GUARD(e);
    e->format = s->format;
    e->c.image_width = s->width;
    e->c.image_height = s->height;
    switch (s->format) {
    case JPEGS_GRAY: e->c.in_color_space = JCS_GRAYSCALE; e->c.input_components = 1; break;
    case JPEGS_RGB:  e->c.in_color_space = JCS_EXT_RGB; e->c.input_components = 3; break;
    case JPEGS_RGBA: e->c.in_color_space = JCS_EXT_RGBX; e->c.input_components = 4; break;
    case JPEGS_BGRA: e->c.in_color_space = JCS_EXT_BGRX; e->c.input_components = 4; break;
    default:         e->c.in_color_space = JCS_CMYK; e->c.input_components = 4; break;
    }
    if (s->format == JPEGS_CMYK) {
        e->strip = malloc((size_t)s->width * 4 * STRIP);
        if (!e->strip) return JPEGS_NO_MEMORY;
    }
    jpeg_set_defaults(&e->c);
    jpeg_set_quality(&e->c, (int)s->quality, TRUE);
    if (e->c.num_components == 3) {
        e->c.comp_info[0].h_samp_factor = (int)s->horizontal;
        e->c.comp_info[0].v_samp_factor = (int)s->vertical;
    }
    e->c.density_unit = (UINT8)s->density_unit;
    e->c.X_density = (UINT16)s->density_x;
    e->c.Y_density = (UINT16)s->density_y;
    e->c.arith_code = s->arithmetic ? TRUE : FALSE;
    e->c.optimize_coding = s->optimize && !s->arithmetic ? TRUE : FALSE;
    if (s->progressive) jpeg_simple_progression(&e->c);
    jpeg_start_compress(&e->c, TRUE);
    return JPEGS_OK;
}

int32_t jpegs_encoder_marker(jpegs_encoder *e, uint32_t marker, const uint8_t *bytes, uint32_t count) {
    ENCODER_GUARD(e);
    jpeg_write_marker(&e->c, (int)marker, bytes, count);
    return JPEGS_OK;
}

int32_t jpegs_encoder_icc(jpegs_encoder *e, const uint8_t *bytes, uint32_t count) {
    ENCODER_GUARD(e);
    jpeg_write_icc_profile(&e->c, bytes, count);
    return JPEGS_OK;
}

int32_t jpegs_encoder_rows(jpegs_encoder *e, const uint8_t *pixels, size_t stride, uint32_t count) {
    ENCODER_GUARD(e);
    size_t row_bytes = (size_t)e->c.image_width * (size_t)e->c.input_components;
    while (count > 0) {
        JSAMPROW   rows[STRIP];
        JDIMENSION given = count < STRIP ? count : STRIP;
        for (JDIMENSION i = 0; i < given; i++) {
            rows[i] = (JSAMPROW)(uintptr_t)(pixels + stride * i); /* only read from */
            if (e->strip) {
                rows[i] = memcpy(e->strip + row_bytes * i, pixels + stride * i, row_bytes);
                invert(rows[i], row_bytes);
            }
        }
        jpeg_write_scanlines(&e->c, rows, given);
        pixels += stride * given;
        count -= given;
    }
    return JPEGS_OK;
}

int32_t jpegs_encoder_finish(jpegs_encoder *e) {
    ENCODER_GUARD(e);
    jpeg_finish_compress(&e->c);
    return JPEGS_OK;
}

const char *jpegs_encoder_message(const jpegs_encoder *e) { return e->message; }
