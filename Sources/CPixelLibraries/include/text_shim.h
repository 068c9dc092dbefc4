/*
 * text_shim.h - glyphs by FreeType, shaping by HarfBuzz, fonts by fontconfig.
 *
 * The first call that needs a library loads it, so a program that draws no text does not depend on it. Only FreeType is
 * necessary. Positions have 1/64 pixel; y counts upward from the baseline, rows of coverage count downward.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TEXT_SHIM_H
#define TEXT_SHIM_H

#include <stdint.h>

/* Whether FreeType, HarfBuzz can be used. Thread-safe. */
int32_t textshim_has_rasterizer(void);
int32_t textshim_has_shaper(void);

/* One font at one size. Only one thread at a time may use it. */
typedef struct textshim_font textshim_font;

/* Copies and opens font data; returns NULL if it has no outlines, is damaged, or memory ends. */
textshim_font *textshim_font_open(const void *bytes, uint64_t count, int32_t index, int32_t shapes);
void textshim_font_close(textshim_font *font);

/* Whether HarfBuzz shapes the text of this font. */
int32_t textshim_font_shapes(const textshim_font *font);

typedef struct textshim_metrics {
    /* Above the baseline, below it (negative), and from one baseline to the next. */
    int32_t ascender, descender, height;
} textshim_metrics;

/* Sets the size of the em square; returns 0 on success. */
int32_t textshim_font_set_size(textshim_font *font, int32_t size, textshim_metrics *metrics);

/* The glyph of a character, 0 if the font lacks it. */
uint32_t textshim_font_glyph(textshim_font *font, uint32_t character);

/* The four letters of a character's script as a number, such as "Arab"; 0 without HarfBuzz. */
uint32_t textshim_script(uint32_t character);

typedef struct textshim_glyph {
    uint32_t index;
    int32_t advance, x, y;
} textshim_glyph;

/* Turns characters of one direction and script into glyphs from left to right; returns their number, or -1. */
int64_t textshim_font_shape(
    textshim_font *font, const uint32_t *characters, uint32_t count, int32_t is_right_to_left, textshim_glyph *glyphs,
    uint32_t capacity);

/* A glyph with its origin, and the width of a stroke around it; 0 for the glyph itself. */
typedef struct textshim_mark {
    uint32_t index;
    int32_t x, y, radius;
} textshim_mark;

typedef struct textshim_area {
    int32_t left, bottom, right, top;
} textshim_area;

/* The area of whole pixels that contains a glyph, y upward; empty for a space. Returns 0 on success. */
int32_t textshim_font_area(textshim_font *font, const textshim_mark *mark, textshim_area *area);

/* Adds a glyph to coverage whose top left pixel is (left, top), y upward. Returns 0 on success. */
int32_t textshim_font_draw(
    textshim_font *font, const textshim_mark *mark, int32_t left, int32_t top, uint8_t *coverage, int32_t width,
    int32_t height);

/* The sizes of the texts that textshim_find fills. */
enum { TEXTSHIM_PATH = 4096, TEXTSHIM_FAMILY = 256 };

/*
 * Finds an installed font with fontconfig: by a name or pattern, or with name NULL a sans-serif font that has as many of
 * the characters as possible. Returns 0 for a font of this name, 1 for a substitute, 2 if there is no font, -1 without
 * fontconfig. Thread-safe.
 */
int32_t textshim_find(
    const char *name, const uint32_t *characters, uint32_t count, char *path, char *family, int32_t *index);

#endif
