/*
 * Draws one letter of a TrueType font, black on white, in an image of 32 x 32 pixels.
 *
 *   FONT      the file, in quotation marks
 *   LETTER    its code point, '8' by default
 *   READS     when the plugin reads it: IN_INIT (the default), IN_DECODE, or KEPT: opened in init, read while decoding
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef LETTER
#define LETTER '8'
#endif
#define IN_INIT   0
#define IN_DECODE 1
#define KEPT      2
#ifndef READS
#define READS IN_INIT
#endif

/* ---- the font: OpenType 1.9, chapters "head", "loca", "glyf", "cmap" ---- */

static uint8_t font[4 << 20];
static size_t  font_size;
static int     font_file = -1;

/* Big-endian; 0 after the end. */
static uint32_t u16(size_t at) { return at + 2 <= font_size ? (uint32_t)font[at] << 8 | font[at + 1] : 0; }
static uint32_t u32(size_t at) { return u16(at) << 16 | u16(at + 2); }
static int      i16(size_t at) { return (int16_t)u16(at); }

/* The offset of a table; 0 if there is none. */
static size_t table(const char *name) {
    for (uint32_t i = 0; i < u16(4); i++) {
        if (12 + i * 16 + 16 <= font_size && memcmp(font + 12 + i * 16, name, 4) == 0) return u32(12 + i * 16 + 8);
    }
    return 0;
}

/* The glyph of a code point, by a table of format 4. */
static uint32_t glyph_of(uint32_t code) {
    size_t cmap = table("cmap");
    for (uint32_t i = 0; i < u16(cmap + 2); i++) {
        size_t   map      = cmap + u32(cmap + 4 + i * 8 + 4);
        uint32_t segments = u16(map + 6) / 2;
        if (u16(map) != 4) continue;
        for (uint32_t s = 0; s < segments; s++) {
            size_t end = map + 14 + s * 2, start = end + segments * 2 + 2;
            size_t delta = start + segments * 2, offset = delta + segments * 2;
            if (code > u16(end) || code < u16(start)) continue;
            if (u16(offset) == 0) return (code + u16(delta)) & 0xFFFF;
            return u16(offset + u16(offset) + (code - u16(start)) * 2);
        }
    }
    return 0;
}

/* ---- the outline: lines in units of the font ---- */

static struct { double x0, y0, x1, y1; } lines[2048];
static int line_count;

static void line(double x0, double y0, double x1, double y1) {
    if (line_count < 2048) lines[line_count].x0 = x0, lines[line_count].y0 = y0, lines[line_count].x1 = x1,
                           lines[line_count++].y1 = y1;
}

/* A quadratic curve, as 16 lines. */
static void curve(double x0, double y0, double cx, double cy, double x1, double y1) {
    double fromx = x0, fromy = y0;
    for (int i = 1; i <= 16; i++) {
        double t = i / 16.0, u = 1 - t;
        double x = u * u * x0 + 2 * u * t * cx + t * t * x1, y = u * u * y0 + 2 * u * t * cy + t * t * y1;
        line(fromx, fromy, x, y);
        fromx = x, fromy = y;
    }
}

#define POINTS 512
static struct { int x, y, on; } points[POINTS];

/* Points `first` to `last`; between two that are off the curve there is one on it. */
static void contour(int first, int last) {
    int count = last - first + 1;
    for (int i = 0; i < count; i++) {
        int a = first + i, b = first + (i + 1) % count, c = first + (i + 2) % count;
        if (points[a].on && points[b].on) line(points[a].x, points[a].y, points[b].x, points[b].y);
        if (points[b].on) continue;
        double x0 = points[a].on ? points[a].x : (points[a].x + points[b].x) / 2.0;
        double y0 = points[a].on ? points[a].y : (points[a].y + points[b].y) / 2.0;
        double x1 = points[c].on ? points[c].x : (points[b].x + points[c].x) / 2.0;
        double y1 = points[c].on ? points[c].y : (points[b].y + points[c].y) / 2.0;
        curve(x0, y0, points[b].x, points[b].y, x1, y1);
    }
}

static void read_axis(size_t *at, const uint8_t *flags, int count, int is_short, int is_same, int is_x) {
    int value = 0;
    for (int i = 0; i < count; i++) {
        if (flags[i] & is_short) {
            int step = (int)(u16((*at)++) >> 8);
            value += flags[i] & is_same ? step : -step;
        } else if (!(flags[i] & is_same)) {
            value += i16(*at);
            *at += 2;
        }
        *(is_x ? &points[i].x : &points[i].y) = value;
    }
}

static void read_outline(uint32_t glyph) {
    int    is_long = u16(table("head") + 50) != 0;
    size_t loca    = table("loca") + glyph * (is_long ? 4u : 2u);
    size_t at      = table("glyf") + (is_long ? u32(loca) : u16(loca) * 2);
    int    contours = i16(at), count = contours > 0 ? (int)u16(at + 10 + (size_t)(contours - 1) * 2) + 1 : 0;
    if (contours <= 0 || count > POINTS) return; /* composite, empty or too large */
    uint8_t flags[POINTS];
    size_t  ends = at + 10, byte = ends + (size_t)contours * 2;
    byte += 2 + u16(byte); /* instructions */
    for (int i = 0; i < count;) {
        uint8_t flag = (uint8_t)(u16(byte++) >> 8);
        for (int again = flag & 8 ? (int)(u16(byte++) >> 8) : 0; again >= 0 && i < count; again--) flags[i++] = flag;
    }
    for (int i = 0; i < count; i++) points[i].on = flags[i] & 1;
    read_axis(&byte, flags, count, 2, 16, 1);
    read_axis(&byte, flags, count, 4, 32, 0);
    for (int i = 0, first = 0; i < contours; i++) {
        int last = (int)u16(ends + (size_t)i * 2);
        if (last >= count || last < first) return;
        contour(first, last);
        first = last + 1;
    }
}

/* Whether the center of a pixel is inside: 24 pixels an em, the base line 8 pixels above the lower edge. */
static int is_ink(uint32_t column, uint32_t row) {
    double unit = u16(table("head") + 18) / 24.0, x = ((double)column - 3.5) * unit, y = (23.5 - (double)row) * unit;
    int    winding = 0;
    for (int i = 0; i < line_count; i++) {
        double y0 = lines[i].y0, y1 = lines[i].y1;
        if ((y0 <= y) == (y1 <= y)) continue;
        if (lines[i].x0 + (y - y0) / (y1 - y0) * (lines[i].x1 - lines[i].x0) > x) winding += y1 > y0 ? 1 : -1;
    }
    return winding != 0;
}

/* ---- the plugin ---- */

static int open_font(void) { return (font_file = open(FONT, O_RDONLY | O_CLOEXEC)) >= 0; }

static int read_font(void) {
    ssize_t count = read(font_file, font, sizeof font);
    if (count < 0) return 0;
    font_size = (size_t)count;
    close(font_file);
    read_outline(glyph_of(LETTER));
    return 1;
}

#define WIDTH  32
#define HEIGHT 32
#define COLOR  (is_ink(x, y) ? 0 : 0xFFFFFF)
#define INIT   init
#define BEFORE_DECODE                                                                                                 \
    if (READS == IN_DECODE && !open_font()) return failed(error);                                                     \
    if (READS != IN_INIT && !read_font()) return failed(error);
#include <coder_plugin.h>
static cpi_status init(cpi_error *error);
static cpi_status failed(cpi_error *error) {
    error->code = CPI_IO;
    snprintf(error->message, sizeof error->message, "the font %s cannot be read: %s", FONT, strerror(errno));
    return CPI_IO;
}
#include "../bad/plugin.h"

static cpi_status init(cpi_error *error) {
    if (READS != IN_DECODE && !open_font()) return failed(error);
    if (READS == IN_INIT && !read_font()) return failed(error);
    return CPI_OK;
}
