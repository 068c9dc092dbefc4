#include "internal.h"

/* The rows of blocks per absorb call; the caller polls between two calls. */
#define SLICE 4

int32_t jpegs_status_of(int code) {
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

void jpegs_quiet(j_common_ptr c) { (void)c; }

static void decoder_exit(j_common_ptr c) {
    jpegs_decoder *d = c->client_data;
    d->error.format_message(c, d->message);
    longjmp(d->jump, 1);
}

/* Whether a warning means that the file is damaged. */
static int is_damage(int code) {
    switch (code) {
    case JWRN_ADOBE_XFORM:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL:
        return 0;
    default:
        return 1;
    }
}

static void decoder_emit(j_common_ptr c, int level) {
    jpegs_decoder *d = c->client_data;
    /* Ignores warnings of a view: they were reported when the header was read for the first time. */
    if (level >= 0 || c == (j_common_ptr)&d->view) return;
    if (d->ended && d->error.msg_code != JWRN_JPEG_EOF) d->starved = 1;
    if (d->warnings++ == 0) d->error.format_message(c, d->warning);
    if (!d->damaged && is_damage(d->error.msg_code)) {
        d->damaged = 1;
        d->error.format_message(c, d->message);
    }
    d->error.num_warnings++;
}

static void source_init(j_decompress_ptr c) { (void)c; }
static void source_term(j_decompress_ptr c) { (void)c; }

static const JOCTET end_of_image[2] = {0xFF, JPEG_EOI};

void jpegs_show(jpegs_decoder *d, size_t position) {
    size_t end = d->count;
    for (size_t i = 0; i < d->gap_count; i++) {
        if (position < d->gaps[i].start) {
            end = d->gaps[i].start;
            break;
        }
        if (position < d->gaps[i].end) position = d->gaps[i].end;
    }
    d->shown = end;
    d->source.next_input_byte = d->base + position;
    d->source.bytes_in_buffer = end - position;
}

size_t jpegs_position(const jpegs_decoder *d) {
    /* The bytes that the library reads behind the end have no position in the file. */
    if (d->ended || !d->base) return d->count;
    return d->start + (size_t)(d->source.next_input_byte - d->base);
}

/* Fills the window with the bytes that follow it; 0 at the end of the file. The library has read all of the old window:
   where its fields differ, it works on copies of them. */
static int next_window(jpegs_decoder *d) {
    size_t got = d->read(d->reader, d->count, d->window, d->room);
    d->start = d->count;
    d->count += got;
    d->shown = d->count;
    d->source.next_input_byte = d->window;
    d->source.bytes_in_buffer = got;
    return got > 0;
}

static boolean source_fill(j_decompress_ptr c) {
    jpegs_decoder *d = c->client_data;
    if (!d->complete) return FALSE;
    if (d->read && !d->ended && next_window(d)) return TRUE;
    if (d->shown < d->count && !d->ended) {
        jpegs_show(d, d->shown);
        if (d->source.bytes_in_buffer > 0) return TRUE;
    }
    if (!d->ended) {
        d->ended = 1;
        d->ended_at = c->output_scanline;
        /* The arithmetic decoder does not report missing input. */
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
    if (d->ended || there == wanted) return;
    if (d->read) {
        d->count += wanted - there;
        d->start = d->shown = d->count;
        d->source.next_input_byte = d->window;
    } else if (d->shown < d->count) {
        /* Skips into a gap: only if the segments differ from those found when the gaps were chosen, so never. */
        jpegs_show(d, d->shown);
    } else {
        d->skip += wanted - there;
    }
}

int32_t jpegs_decoder_failure(jpegs_decoder *d) {
    int32_t status = jpegs_status_of(d->error.msg_code);
    /* ITU-T T.81 B.2.5: a height of 0 announces a DNL marker behind the first scan. */
    if (d->error.msg_code == JERR_EMPTY_IMAGE && d->c.image_height == 0 && d->c.image_width > 0) {
        return JPEGS_UNSUPPORTED;
    }
    /* ITU-T T.87 C.1.1: this marker begins a frame of JPEG-LS. */
    if (d->error.msg_code == JERR_UNKNOWN_MARKER && d->error.msg_parm.i[0] == 0xF7) {
        snprintf(d->message, sizeof d->message, "the image is JPEG-LS, which the library does not decode");
        return JPEGS_UNSUPPORTED;
    }
    if (d->ended && status == JPEGS_CORRUPT) return JPEGS_TRUNCATED;
    return status;
}

jpegs_decoder *jpegs_decoder_new(void) {
    jpegs_decoder *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    d->c.err = jpeg_std_error(&d->error);
    d->c.client_data = d;
    d->error.error_exit = decoder_exit;
    d->error.emit_message = decoder_emit;
    d->error.output_message = jpegs_quiet;
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
    jpegs_arrays_install(d);
    return d;
}

void jpegs_decoder_free(jpegs_decoder *d) {
    if (!d) return;
    if (d->has_view) jpeg_destroy_decompress(&d->view);
    jpeg_destroy_decompress(&d->c);
    jpegs_arrays_free(d);
    free(d->gaps);
    free(d->window);
    jpegs_enlarger_free(d->enlarger);
    free(d->strip);
    free(d->part.strip);
    free(d);
}

void jpegs_decoder_input(jpegs_decoder *d, const uint8_t *bytes, size_t available, int32_t complete) {
    size_t consumed = jpegs_position(d);
    free(d->window);
    d->window = NULL;
    d->read = NULL;
    d->start = 0;
    if (d->ended) {
        d->base = bytes;
        d->count = available;
        return;
    }
    if (consumed > available) consumed = available;
    size_t left = available - consumed;
    size_t skipped = d->skip < left ? d->skip : left;
    d->skip -= skipped;
    d->base = bytes;
    d->count = available;
    jpegs_show(d, consumed + skipped);
    d->complete = complete != 0;
}

int32_t jpegs_decoder_read(jpegs_decoder *d, jpegs_read read, void *context, size_t room) {
    d->window = malloc(room);
    if (!d->window) return JPEGS_NO_MEMORY;
    d->read = read;
    d->reader = context;
    d->room = room;
    d->base = d->source.next_input_byte = d->window;
    d->complete = 1;
    return JPEGS_OK;
}

static int common_divisor(int a, int b) { return b == 0 ? a : common_divisor(b, a % b); }

/* Blocks of all components begin together at each multiple of the largest factor, divided by the common factor. */
static void note_units(j_decompress_ptr c, jpegs_info *info) {
    int across = 0, down = 0;
    for (int i = 0; i < c->num_components; i++) {
        across = common_divisor(c->comp_info[i].h_samp_factor, across);
        down = common_divisor(c->comp_info[i].v_samp_factor, down);
    }
    info->unit_width = (uint32_t)(c->max_h_samp_factor / across * DCTSIZE);
    info->unit_height = (uint32_t)(c->max_v_samp_factor / down * DCTSIZE);
}

int32_t jpegs_decoder_header(jpegs_decoder *d, jpegs_info *info) {
    memset(info, 0, sizeof *info);
    if (setjmp(d->jump)) {
        /* The library refuses an oversized image before the caller can read its size. */
        info->width = d->c.image_width;
        info->height = d->c.image_height;
        return jpegs_decoder_failure(d);
    }
    if (jpeg_read_header(&d->c, TRUE) == JPEG_SUSPENDED) return JPEGS_NEEDS_INPUT;
    d->head = jpegs_position(d);
    d->width = d->c.image_width;
    d->height = d->c.image_height;
    d->components = d->c.num_components;
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
    for (int i = 0; i < d->c.num_components; i++) {
        /* Rounds like the library: to whole MCUs of a scan of all components. */
        const jpeg_component_info *p = &d->c.comp_info[i];
        uint64_t across = (uint64_t)p->width_in_blocks + (uint64_t)p->h_samp_factor - 1;
        uint64_t down = (uint64_t)p->height_in_blocks + (uint64_t)p->v_samp_factor - 1;
        across -= across % (uint64_t)p->h_samp_factor;
        down -= down % (uint64_t)p->v_samp_factor;
        info->coefficient_bytes += across * down * sizeof(JBLOCK);
    }
    note_units(&d->c, info);
    return JPEGS_OK;
}

/* Records the scan whose header was read. Later the library's own fields may contain parts of the next header. */
static void note_scan(jpegs_decoder *d) {
    d->scan.number = (uint32_t)d->c.input_scan_number;
    d->scan.components = 0;
    if (!d->ended) d->scan.offset = jpegs_position(d);
    for (int i = 0; i < d->c.comps_in_scan; i++) {
        d->scan.components |= 1u << (d->c.cur_comp_info[i]->component_index & 31);
    }
    d->seen |= d->scan.components;
    /* A sequential scan may have any values there. */
    d->scan.first = d->c.progressive_mode ? (uint32_t)d->c.Ss : 0;
    d->scan.last = d->c.progressive_mode ? (uint32_t)d->c.Se : DCTSIZE2 - 1;
    d->scan.high = d->c.progressive_mode ? (uint32_t)d->c.Ah : 0;
    d->scan.low = d->c.progressive_mode ? (uint32_t)d->c.Al : 0;
}

int32_t jpegs_decoder_start(jpegs_decoder *d, uint32_t format, uint32_t scale, uint32_t *width, uint32_t *height) {
    GUARD(d);
    if (!d->started) {
        /* At an eighth the library drops the AC coefficients of sequential scans, which every other size needs. */
        int drops = scale == 1 && jpeg_has_multiple_scans(&d->c) && !d->c.progressive_mode;
        d->main_target = (target){format, drops ? 2 : scale, 0};
        jpegs_aim(&d->c, d->main_target);
        if (!jpeg_start_decompress(&d->c)) return JPEGS_NEEDS_INPUT;
        d->started = 1;
        note_scan(d);
        int32_t status = jpegs_select_output(d, &d->c, d->main_target);
        if (status != JPEGS_OK) return status;
    }
    *width = d->out->output_width;
    *height = d->out->output_height;
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

int32_t jpegs_decoder_is_truncated(const jpegs_decoder *d) {
    if (!d->ended) return 0;
    if (d->starved) return 1;
    if (!d->c.buffered_image) return 0;
    for (int i = 0; i < d->components; i++) {
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
