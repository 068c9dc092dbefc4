#include "internal.h"

/*
 * Finds the scans of a progressive image that a reduced output needs.
 *
 * A component with n x n output samples for a block of 8 x 8 needs few of its coefficients. A scan without any of
 * them need not be read: three quarters of a file at 1/8. Its bytes are hidden from the library. This is done only
 * for a complete and correct file, so that the output equals that of the whole file exactly. In any other case the
 * library reads all scans and reports the error.
 */

/* The position of each coefficient in a block: ITU-T T.81 figure A.6. */
const uint8_t jpegs_zigzag[DCTSIZE2] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

/* The rows (and the columns) of a block that the library's n x n transform uses, one bit each. For 2 and 4 it uses the
   means of the samples of the whole block (jidctred.c); for other sizes the lowest n (jidctint.c). */
static uint32_t wanted_lines(int size) {
    switch (size) {
    case 1:  return 0x01;
    case 2:  return 0xAB;
    case 4:  return 0xEF;
    default: return size < DCTSIZE ? (1u << size) - 1 : 0xFF;
    }
}

typedef struct walk {
    const uint8_t *bytes;
    size_t         count, at;
    int            components;
    int            missing[MAX_COMPONENTS][DCTSIZE2]; /* bits, -1 = all */
    uint32_t       scans;
} walk;

typedef struct scan {
    uint32_t components;
    int      first, last, high, low;
} scan;

size_t jpegs_before_marker(const uint8_t *bytes, size_t count) {
    size_t at = 0;
    while (at < count) {
        const uint8_t *found = memchr(bytes + at, 0xFF, count - at);
        if (!found) return count;
        at = (size_t)(found - bytes);
        if (count - at < 2) return at;
        uint8_t code = found[1];
        if (code >= 0xC0 && code != 0xFF && (code & 0xF8) != JPEG_RST0) return at;
        at += code == 0xFF ? 1 : 2;
    }
    return count;
}

/* Skips entropy-coded data up to the next marker. */
static int step_over_data(walk *w) {
    while (w->at < w->count) {
        const uint8_t *found = memchr(w->bytes + w->at, 0xFF, w->count - w->at);
        if (!found) return 0;
        w->at = (size_t)(found - w->bytes);
        if (w->count - w->at < 2) return 0;
        uint8_t next = found[1];
        if (next == 0xFF) {
            w->at += 1;
        } else if (next == 0 || (next >= JPEG_RST0 && next <= JPEG_RST0 + 7)) {
            w->at += 2;
        } else {
            return 1;
        }
    }
    return 0;
}

/* Records the coefficients of a scan; 0 if the scan is invalid here. */
static int note(walk *w, const scan *s) {
    if (s->first > s->last || s->last >= DCTSIZE2 || s->low > 13 || s->components == 0) return 0;
    if (s->first == 0 ? s->last != 0 : (s->components & (s->components - 1)) != 0) return 0;
    for (int c = 0; c < w->components; c++) {
        if (!(s->components & 1u << c)) continue;
        if (s->first > 0 && w->missing[c][0] < 0) return 0;
        for (int k = s->first; k <= s->last; k++) {
            if (s->high == 0 ? w->missing[c][k] != -1 : w->missing[c][k] != s->high || s->low != s->high - 1) return 0;
            w->missing[c][k] = s->low;
        }
    }
    w->scans++;
    return 1;
}

/* Reads the header of a scan at the marker, ITU-T T.81 B.2.3, and stops behind it. */
static int read_scan(walk *w, j_decompress_ptr c, scan *s) {
    const uint8_t *p = w->bytes + w->at + 2;
    size_t         left = w->count - w->at - 2;
    if (left < 3) return 0;
    size_t length = (size_t)p[0] << 8 | p[1];
    int    n = p[2];
    if (n < 1 || n > MAX_COMPS_IN_SCAN || length != 6 + 2 * (size_t)n || length > left) return 0;
    s->components = 0;
    for (int i = 0; i < n; i++) {
        int found = -1;
        for (int k = 0; k < w->components; k++) {
            if (c->comp_info[k].component_id == p[3 + 2 * i]) found = k;
        }
        if (found < 0 || s->components & 1u << found) return 0;
        s->components |= 1u << found;
    }
    p += 3 + 2 * n;
    *s = (scan){s->components, p[0], p[1], p[2] >> 4, p[2] & 15};
    w->at += 2 + length;
    return 1;
}

static int is_needed(j_decompress_ptr c, const scan *s) {
    for (int i = 0; i < c->num_components; i++) {
        if (!(s->components & 1u << i)) continue;
        uint32_t lines = wanted_lines(c->comp_info[i].DCT_scaled_size);
        for (int k = s->first; k <= s->last; k++) {
            if (lines & 1u << jpegs_zigzag[k] / DCTSIZE && lines & 1u << jpegs_zigzag[k] % DCTSIZE) return 1;
        }
    }
    return 0;
}

/* Hides start ..< end from the library; 0 without memory. */
static int leave_out(jpegs_decoder *d, size_t start, size_t end) {
    if (d->gap_count > 0 && d->gaps[d->gap_count - 1].end == start) {
        d->gaps[d->gap_count - 1].end = end;
        return 1;
    }
    gap *more = realloc(d->gaps, (d->gap_count + 1) * sizeof *more);
    if (!more) return 0;
    d->gaps = more;
    d->gaps[d->gap_count++] = (gap){start, end};
    return 1;
}

/* Walks through all scans behind the header of the first; 0 if the file is damaged. */
static int choose(jpegs_decoder *d, walk *w) {
    scan s = {0, d->c.Ss, d->c.Se, d->c.Ah, d->c.Al};
    for (int i = 0; i < d->c.comps_in_scan; i++) s.components |= 1u << d->c.cur_comp_info[i]->component_index;
    if (!note(w, &s) || !step_over_data(w)) return 0;
    while (w->bytes[w->at + 1] != JPEG_EOI) {
        uint8_t marker = w->bytes[w->at + 1];
        size_t  start = w->at;
        if (marker == 0xDA) {
            if (!read_scan(w, &d->c, &s) || !note(w, &s) || !step_over_data(w)) return 0;
            if (!is_needed(&d->c, &s) && !leave_out(d, start, w->at)) return 0;
            continue;
        }
        int is_table = marker == 0xC4 || marker == 0xCC || marker == 0xDB || marker == 0xDD;
        if (!is_table && marker != JPEG_COM && (marker & 0xF0) != JPEG_APP0) return 0;
        if (w->count - w->at < 4) return 0;
        size_t length = (size_t)w->bytes[w->at + 2] << 8 | w->bytes[w->at + 3];
        if (length < 2 || length > w->count - w->at - 2) return 0;
        w->at += 2 + length;
        /* The next marker must follow at once, as writers do. */
        if (w->count - w->at < 2 || w->bytes[w->at] != 0xFF || w->bytes[w->at + 1] == 0xFF) return 0;
    }
    for (int c = 0; c < w->components; c++) {
        for (int k = 0; k < DCTSIZE2; k++) {
            if (w->missing[c][k] != 0) return 0;
        }
    }
    return 1;
}

int32_t jpegs_decoder_skim(jpegs_decoder *d, uint32_t format, uint32_t scale, uint32_t *scans) {
    GUARD(d);
    *scans = 0;
    if (!d->complete || d->started || !d->c.progressive_mode || d->c.arith_code || d->gap_count > 0) return 0;
    if (d->c.num_components > 4) return 0;
    jpegs_aim(&d->c, (target){format, scale, 0});
    jpeg_calc_output_dimensions(&d->c);
    walk w = {.bytes = d->base, .count = d->count, .at = d->head, .components = d->c.num_components};
    for (int c = 0; c < MAX_COMPONENTS; c++) {
        for (int k = 0; k < DCTSIZE2; k++) w.missing[c][k] = -1;
    }
    int is_sound = choose(d, &w);
    *scans = w.scans;
    if (is_sound && d->gap_count > 0) {
        jpegs_show(d, jpegs_position(d));
        return 1;
    }
    free(d->gaps);
    d->gaps = NULL;
    d->gap_count = 0;
    return 0;
}
