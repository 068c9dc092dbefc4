#include "webp_frames.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK 16 /* a macroblock */

struct webps_frames {
    uint32_t   width, height;
    int        exact;
    uint32_t   tolerance;
    uint32_t  *seen, *next, *part, *row; /* `row`: a row of the current image, with a part cleared */
    uint8_t   *holes;                    /* one per pixel of the part                           */
    webps_rect cut;
};

webps_frames *webps_frames_new(uint32_t width, uint32_t height, int32_t exact, uint32_t tolerance) {
    size_t        count = (size_t)width * height;
    webps_frames *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    f->width = width;
    f->height = height;
    f->exact = exact != 0;
    f->tolerance = tolerance;
    f->seen = calloc(count, sizeof *f->seen);
    f->next = malloc(count * sizeof *f->next);
    f->part = malloc(count * sizeof *f->part);
    f->row = malloc(width * sizeof *f->row);
    f->holes = malloc(count);
    if (f->seen && f->next && f->part && f->row && f->holes) return f;
    webps_frames_free(f);
    return NULL;
}

void webps_frames_free(webps_frames *f) {
    if (!f) return;
    free(f->seen);
    free(f->next);
    free(f->part);
    free(f->row);
    free(f->holes);
    free(f);
}

/* ---- pixels ---- */

static uint32_t argb(uint32_t a, uint32_t r, uint32_t g, uint32_t b) { return a << 24 | r << 16 | g << 8 | b; }

static int load_row(uint32_t *to, const uint8_t *from, uint32_t format, uint32_t width) {
    switch (format) {
    case WEBPS_RGB:
        for (uint32_t x = 0; x < width; x++) to[x] = argb(255, from[3 * x], from[3 * x + 1], from[3 * x + 2]);
        return 1;
    case WEBPS_RGBX:
        for (uint32_t x = 0; x < width; x++) to[x] = argb(255, from[4 * x], from[4 * x + 1], from[4 * x + 2]);
        return 1;
    case WEBPS_BGRX:
        for (uint32_t x = 0; x < width; x++) to[x] = argb(255, from[4 * x + 2], from[4 * x + 1], from[4 * x]);
        return 1;
    case WEBPS_RGBA:
        for (uint32_t x = 0; x < width; x++)
            to[x] = argb(from[4 * x + 3], from[4 * x], from[4 * x + 1], from[4 * x + 2]);
        return 1;
    case WEBPS_BGRA:
        for (uint32_t x = 0; x < width; x++)
            to[x] = argb(from[4 * x + 3], from[4 * x + 2], from[4 * x + 1], from[4 * x]);
        return 1;
    default: return 0;
    }
}

int32_t webps_frames_load(webps_frames *f, uint32_t format, const uint8_t *pixels, size_t stride) {
    for (uint32_t y = 0; y < f->height; y++) {
        uint32_t *row = f->next + (size_t)y * f->width;
        if (!load_row(row, pixels + y * stride, format, f->width)) return WEBPS_MISUSE;
        if (f->exact) continue;
        for (uint32_t x = 0; x < f->width; x++) row[x] = row[x] >> 24 ? row[x] : 0;
    }
    return WEBPS_OK;
}

/* Returns a row of the current image, with a part cleared. */
static const uint32_t *seen_row(const webps_frames *f, uint32_t y, const webps_rect *cleared) {
    const uint32_t *row = f->seen + (size_t)y * f->width;
    if (cleared->width == 0 || y < cleared->y || y - cleared->y >= cleared->height) return row;
    memcpy(f->row, row, f->width * sizeof *row);
    memset(f->row + cleared->x, 0, cleared->width * sizeof *row);
    return f->row;
}

static uint32_t distance(uint32_t a, uint32_t b, int shift) {
    int difference = (int)(a >> shift & 255) - (int)(b >> shift & 255);
    return (uint32_t)(difference < 0 ? -difference : difference);
}

/* Alpha has to be equal: a pixel that becomes opaque must not stay translucent. */
static int differs(uint32_t a, uint32_t b, uint32_t tolerance) {
    if (tolerance == 0) return a != b;
    uint32_t most = distance(a, b, 0);
    uint32_t green = distance(a, b, 8), red = distance(a, b, 16);
    if (green > most) most = green;
    if (red > most) most = red;
    return (a >> 24 != b >> 24) | (most > tolerance);
}

/* ---- what changes ---- */

void webps_frames_compare(const webps_frames *f, const webps_rect *cleared, webps_difference *d) {
    uint32_t left = f->width, right = 0, top = f->height, bottom = 0;
    memset(d, 0, sizeof *d);
    for (uint32_t y = 0; y < f->height; y++) {
        const uint32_t *now = f->next + (size_t)y * f->width;
        const uint32_t *before = seen_row(f, y, cleared);
        uint32_t        count = 0, translucent = 0;
        if (memcmp(now, before, f->width * sizeof *now) == 0) continue;
        if (f->tolerance == 0) {
            for (uint32_t x = 0; x < f->width; x++) {
                uint32_t is = now[x] != before[x];
                count += is;
                translucent |= is & (now[x] < 0xFF000000u);
            }
        } else {
            for (uint32_t x = 0; x < f->width; x++) {
                uint32_t is = (uint32_t)differs(now[x], before[x], f->tolerance);
                count += is;
                translucent |= is & (now[x] < 0xFF000000u);
            }
        }
        if (count == 0) continue;
        d->changed += count;
        d->has_translucent |= translucent;
        if (top == f->height) top = y;
        bottom = y + 1;
        for (uint32_t x = 0; x < left; x++)
            if (differs(now[x], before[x], f->tolerance)) left = x;
        for (uint32_t x = f->width; x > right; x--)
            if (differs(now[x - 1], before[x - 1], f->tolerance)) right = x;
    }
    if (d->changed == 0) return;
    d->rect = (webps_rect){left, top, right - left, bottom - top};
}

/* ---- cutting out ---- */

/* Omits a whole block, filled with its mean so that its neighbors are not coded worse. If a pixel of it changes, omits
   only pixels that are not opaque, because they cannot be blended over themselves. */
static void leave_out(webps_frames *f, uint32_t left, uint32_t top, uint32_t right, uint32_t bottom) {
    uint32_t all = 1, red = 0, green = 0, blue = 0, count = (right - left) * (bottom - top);
    for (uint32_t y = top; y < bottom; y++)
        for (uint32_t x = left; x < right; x++) {
            size_t i = (size_t)y * f->cut.width + x;
            all &= f->holes[i];
            red += f->part[i] >> 16 & 255;
            green += f->part[i] >> 8 & 255;
            blue += f->part[i] & 255;
        }
    uint32_t mean = argb(0, red / count, green / count, blue / count);
    for (uint32_t y = top; y < bottom; y++)
        for (uint32_t x = left; x < right; x++) {
            size_t i = (size_t)y * f->cut.width + x;
            if (!all) f->holes[i] &= f->part[i] < 0xFF000000u;
            if (f->holes[i]) f->part[i] = all ? mean : f->part[i] & 0xFFFFFFu;
        }
}

uint64_t webps_frames_cut(webps_frames *f, const webps_rect *part, const webps_rect *cleared, int32_t holes,
                          int32_t blocks) {
    uint64_t count = 0;
    f->cut = *part;
    memset(f->holes, 0, (size_t)part->width * part->height);
    for (uint32_t y = 0; y < part->height; y++) {
        const uint32_t *now = f->next + (size_t)(part->y + y) * f->width + part->x;
        memcpy(f->part + (size_t)y * part->width, now, part->width * sizeof *now);
        if (!holes) continue;
        const uint32_t *before = seen_row(f, part->y + y, cleared) + part->x;
        uint8_t        *hole = f->holes + (size_t)y * part->width;
        for (uint32_t x = 0; x < part->width; x++) hole[x] = !differs(now[x], before[x], f->tolerance);
    }
    if (!holes) return 0;
    for (uint32_t top = 0; blocks && top < part->height; top += BLOCK) {
        uint32_t bottom = part->height - top < BLOCK ? part->height : top + BLOCK;
        for (uint32_t left = 0; left < part->width; left += BLOCK) {
            uint32_t right = part->width - left < BLOCK ? part->width : left + BLOCK;
            leave_out(f, left, top, right, bottom);
        }
    }
    for (size_t i = 0; i < (size_t)part->width * part->height; i++) {
        f->part[i] = blocks || !f->holes[i] ? f->part[i] : 0;
        count += f->holes[i];
    }
    return count;
}

int32_t webps_frames_has_colors(const webps_frames *f, uint32_t limit) {
    enum { SLOTS = 1024 };
    uint32_t colors[SLOTS];
    uint8_t  used[SLOTS] = {0};
    uint32_t count = 0;
    for (uint32_t y = 0; y < f->cut.height; y++) {
        const uint32_t *row = f->next + (size_t)(f->cut.y + y) * f->width + f->cut.x;
        for (uint32_t x = 0; x < f->cut.width; x++) {
            if (x > 0 && row[x] == row[x - 1]) continue;
            uint32_t slot = row[x] * 0x9E3779B1u >> 22;
            while (used[slot] && colors[slot] != row[x]) slot = (slot + 1) % SLOTS;
            if (used[slot]) continue;
            if (count == limit || count == 256) return 0;
            used[slot] = 1;
            colors[slot] = row[x];
            count++;
        }
    }
    return 1;
}

int32_t webps_frames_encode(webps_frames *f, webps_encoder *e) {
    return webps_encoder_encode_argb(e, f->part, f->cut.width, f->cut.width, f->cut.height);
}

void webps_frames_show(webps_frames *f, const webps_rect *cleared) {
    for (uint32_t y = 0; y < cleared->height && cleared->width > 0; y++) {
        memset(f->seen + (size_t)(cleared->y + y) * f->width + cleared->x, 0, cleared->width * sizeof *f->seen);
    }
    for (uint32_t y = 0; y < f->cut.height; y++) {
        uint32_t       *to = f->seen + (size_t)(f->cut.y + y) * f->width + f->cut.x;
        const uint32_t *from = f->next + (size_t)(f->cut.y + y) * f->width + f->cut.x;
        const uint8_t  *hole = f->holes + (size_t)y * f->cut.width;
        for (uint32_t x = 0; x < f->cut.width; x++) to[x] = hole[x] ? to[x] : from[x];
    }
}
