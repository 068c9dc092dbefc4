#include "internal.h"

#define OUTPUT_BYTES 65536

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

jpegs_encoder *jpegs_encoder_new(const jpegs_callbacks *callbacks) {
    jpegs_encoder *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    e->c.err = jpeg_std_error(&e->error);
    e->error.error_exit = encoder_exit;
    e->error.emit_message = encoder_emit;
    e->error.output_message = jpegs_quiet;
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
            rows[i] = (JSAMPROW)(uintptr_t)(pixels + stride * i); /* read-only */
            if (e->strip) {
                rows[i] = memcpy(e->strip + row_bytes * i, pixels + stride * i, row_bytes);
                jpegs_invert(rows[i], row_bytes);
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
