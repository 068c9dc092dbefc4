#include "internal.h"

/*
 * Copies coefficients from one file to another. A decoder may show a damaged image; here damage is an
 * error: otherwise the result would be a valid file with the same holes.
 */

static JDIMENSION ratio_up(uint64_t value, uint64_t unit) { return (JDIMENSION)((value + unit - 1) / unit); }

/* ---- reading ---- */

static void give_up(jpegs_decoder *d, int32_t why) {
    d->stopped = why;
    longjmp(d->jump, 1);
}

/* The library calls this before it reads a row of MCUs. */
static void look_around(j_common_ptr c) {
    jpegs_decoder *d = c->client_data;
    uint32_t       most = d->watch.most_scans;
    if (d->damaged) give_up(d, d->ended ? JPEGS_TRUNCATED : JPEGS_CORRUPT);
    if (most > 0 && (uint32_t)d->c.input_scan_number > most) give_up(d, JPEGS_SCANS);
    if (d->watch.poll(d->watch.context) != 0) give_up(d, JPEGS_STOPPED);
}

static int32_t complain(jpegs_decoder *d, int32_t status, const char *why) {
    snprintf(d->message, sizeof d->message, "%s", why);
    return status;
}

/* Checks which coefficient bits the scans together omit. */
static int32_t check_scans(jpegs_decoder *d) {
    if (d->damaged) return d->ended ? JPEGS_TRUNCATED : JPEGS_CORRUPT;
    for (int i = 0; i < d->components; i++) {
        /* The library records the table when the first scan of a component begins. */
        if (!d->c.comp_info[i].quant_table) return complain(d, JPEGS_CORRUPT, "a component has no scan");
        for (int k = 0; d->c.coef_bits && k < DCTSIZE2; k++) {
            if (d->c.coef_bits[i][k] != 0) {
                return complain(d, JPEGS_UNSUPPORTED, "an image whose scans omit bits of coefficients");
            }
        }
    }
    return JPEGS_OK;
}

/* Restart markers at the ends of rows stay there for any new width. */
static void note_restarts(jpegs_decoder *d) {
    uint64_t unit = (uint64_t)d->c.max_h_samp_factor * DCTSIZE;
    uint32_t across = d->c.comps_in_scan == 1 ? d->c.cur_comp_info[0]->width_in_blocks : ratio_up(d->width, unit);
    d->restarts = d->c.restart_interval;
    d->restart_rows = across > 0 && d->restarts % across == 0 ? d->restarts / across : 0;
}

int32_t jpegs_decoder_coefficients(jpegs_decoder *d, const jpegs_watch *watch) {
    if (setjmp(d->jump)) return d->stopped != JPEGS_OK ? d->stopped : jpegs_decoder_failure(d);
    d->watch = *watch;
    d->progress.progress_monitor = look_around;
    d->c.progress = &d->progress;
    note_restarts(d);
    if (!jpeg_read_coefficients(&d->c)) return JPEGS_NEEDS_INPUT;
    return check_scans(d);
}

/* ---- writing ---- */

int jpegs_planes(const jpegs_decoder *d, plane planes[MAX_COMPONENTS]) {
    int turned = d->turned.transposed, blocks = 0;
    int most_across = turned ? d->c.max_v_samp_factor : d->c.max_h_samp_factor;
    int most_down = turned ? d->c.max_h_samp_factor : d->c.max_v_samp_factor;
    for (int i = 0; i < d->components; i++) {
        const jpeg_component_info *c = &d->c.comp_info[i];
        plane                     *p = &planes[i];
        p->across = turned ? c->v_samp_factor : c->h_samp_factor;
        p->down = turned ? c->h_samp_factor : c->v_samp_factor;
        p->blocks_across = ratio_up((uint64_t)d->turned.width * (uint64_t)p->across, (uint64_t)most_across * DCTSIZE);
        p->blocks_down = ratio_up((uint64_t)d->turned.height * (uint64_t)p->down, (uint64_t)most_down * DCTSIZE);
        blocks += p->across * p->down;
    }
    return blocks;
}

int jpegs_interleaves(const jpegs_decoder *d, int blocks) {
    return d->components > 1 && d->components <= MAX_COMPS_IN_SCAN && blocks <= C_MAX_BLOCKS_IN_MCU;
}

/* Returns the slot of a table in the new file, which has one table per slot; -1 if there are too many tables. A file
   may redefine a table between two scans, so a component's table may differ from the current one in its slot. */
static int place_table(jpegs_encoder *e, const JQUANT_TBL *table, int transposed, uint32_t *taken) {
    UINT16 wanted[DCTSIZE2];
    int    free_place = -1;
    for (int k = 0; k < DCTSIZE2; k++) {
        wanted[k] = table->quantval[transposed ? k % DCTSIZE * DCTSIZE + k / DCTSIZE : k];
    }
    for (int i = 0; i < NUM_QUANT_TBLS; i++) {
        if (!(*taken & 1u << i)) {
            if (free_place < 0) free_place = i;
        } else if (memcmp(e->c.quant_tbl_ptrs[i]->quantval, wanted, sizeof wanted) == 0) {
            return i;
        }
    }
    if (free_place < 0) return -1;
    JQUANT_TBL **place = &e->c.quant_tbl_ptrs[free_place];
    if (!*place) *place = jpeg_alloc_quant_table((j_common_ptr)&e->c);
    memcpy((*place)->quantval, wanted, sizeof wanted);
    (*place)->sent_table = FALSE;
    *taken |= 1u << free_place;
    return free_place;
}

/* Gives each component its own scans, if the components do not fit one scan. */
static void split_scans(jpegs_encoder *e) {
    static const jpeg_scan_info whole = {0, {0}, 0, DCTSIZE2 - 1, 0, 0};
    const jpeg_scan_info       *scans = e->c.scan_info ? e->c.scan_info : &whole;
    int                         count = e->c.scan_info ? e->c.num_scans : 1, made = 0;
    int                         all = !e->c.scan_info;
    for (int i = 0; i < count; i++) {
        int components = all ? e->c.num_components : scans[i].comps_in_scan;
        for (int k = 0; k < components && made < MOST_SCANS; k++, made++) {
            e->scans[made] = scans[i];
            e->scans[made].comps_in_scan = 1;
            e->scans[made].component_index[0] = all ? k : scans[i].component_index[k];
        }
    }
    e->c.scan_info = e->scans;
    e->c.num_scans = made;
}

/* Sets all parameters of the image for the library, except its coding process. */
static int32_t describe(jpegs_encoder *e, const jpegs_decoder *d) {
    plane    planes[MAX_COMPONENTS];
    uint32_t taken = 0;
    jpegs_planes(d, planes);
    e->c.image_width = d->turned.width;
    e->c.image_height = d->turned.height;
    e->c.input_components = d->components;
    e->c.in_color_space = d->c.jpeg_color_space;
    jpeg_set_defaults(&e->c);
    jpeg_set_colorspace(&e->c, d->c.jpeg_color_space);
    e->c.write_JFIF_header = FALSE;
    e->c.write_Adobe_marker = FALSE;
    e->c.arith_code = d->c.arith_code;
    e->c.optimize_coding = !d->c.arith_code;
    for (int i = 0; i < d->components; i++) {
        const jpeg_component_info *from = &d->c.comp_info[i];
        jpeg_component_info       *to = &e->c.comp_info[i];
        to->component_id = from->component_id;
        to->h_samp_factor = planes[i].across;
        to->v_samp_factor = planes[i].down;
        to->quant_tbl_no = place_table(e, from->quant_table, d->turned.transposed, &taken);
        if (to->quant_tbl_no < 0) {
            snprintf(e->message, sizeof e->message, "an image with more than four quantization tables");
            return JPEGS_UNSUPPORTED;
        }
    }
    return JPEGS_OK;
}

int32_t jpegs_encoder_coefficients(jpegs_encoder *e, jpegs_decoder *d, uint32_t process) {
    ENCODER_GUARD(e);
    plane   planes[MAX_COMPONENTS];
    int32_t status = describe(e, d);
    if (status != JPEGS_OK) return status;
    if (process == JPEGS_AS_IT_IS) {
        e->c.restart_in_rows = (int)d->restart_rows;
        e->c.restart_interval = d->restart_rows > 0 ? 0 : d->restarts;
    }
    if (process == JPEGS_PROGRESSIVE || (process == JPEGS_AS_IT_IS && d->c.progressive_mode)) {
        jpeg_simple_progression(&e->c);
    }
    if (d->components > 1 && !jpegs_interleaves(d, jpegs_planes(d, planes))) split_scans(e);
    jpegs_arrays_share((j_common_ptr)&e->c);
    jpeg_write_coefficients(&e->c, d->turned.arrays);
    return JPEGS_OK;
}
