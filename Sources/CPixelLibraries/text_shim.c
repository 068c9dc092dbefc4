/* text_shim.c - see the header. SPDX-License-Identifier: Apache-2.0 */
#include "text_shim.h"

#include "text_libraries.h"

#include <stdlib.h>
#include <string.h>

/* The longest side and largest area of one glyph: a damaged font must not take much memory. */
enum { LONGEST_SIDE = 32768, LARGEST_AREA = 1 << 26 };

/* Enumerations of HarfBuzz's binary interface. */
enum { HB_LEFT_TO_RIGHT = 4, HB_RIGHT_TO_LEFT = 5, HB_READ_ONLY = 1 };

/* The coordinates of FreeType's outlines have 32 bits at most, those of its renderer fewer. */
enum { LARGEST_POSITION = 1 << 28 };

/* Outlines as designed: hinting would move edges, and bitmaps have one size. */
enum { LOAD_FLAGS = FT_LOAD_NO_HINTING | FT_LOAD_NO_BITMAP };

struct textshim_font {
    const text_freetype *ft;
    const text_harfbuzz *hb;
    void *bytes;
    FT_Library library;
    FT_Face face;
    FT_Stroker stroker;
    void *shaper;
};

int32_t textshim_has_rasterizer(void) { return text_load_freetype() != NULL; }
int32_t textshim_has_shaper(void) { return text_load_harfbuzz() != NULL; }

static void open_shaper(textshim_font *font, uint64_t count, int32_t index) {
    const text_harfbuzz *hb = text_load_harfbuzz();
    if (!hb) return;
    void *blob = hb->hb_blob_create(font->bytes, (unsigned)count, HB_READ_ONLY, NULL, NULL);
    void *face = hb->hb_face_create(blob, (unsigned)index & 0xFFFF);
    font->shaper = hb->hb_font_create(face);
    hb->hb_face_destroy(face);
    hb->hb_blob_destroy(blob);
    if (!font->shaper) return;
    hb->hb_ot_font_set_funcs(font->shaper);
    font->hb = hb;
}

textshim_font *textshim_font_open(const void *bytes, uint64_t count, int32_t index, int32_t shapes) {
    const text_freetype *ft = text_load_freetype();
    if (!ft || count == 0 || count > INT32_MAX) return NULL;
    textshim_font *font = calloc(1, sizeof *font);
    if (!font) return NULL;
    font->ft = ft;
    font->bytes = malloc(count);
    if (font->bytes && ft->FT_Init_FreeType(&font->library) == 0) {
        memcpy(font->bytes, bytes, count);
        if (ft->FT_New_Memory_Face(font->library, font->bytes, (FT_Long)count, index, &font->face) == 0 &&
            FT_IS_SCALABLE(font->face) && ft->FT_Stroker_New(font->library, &font->stroker) == 0) {
            /* HarfBuzz reads tables of OpenType only. */
            if (shapes && FT_IS_SFNT(font->face)) open_shaper(font, count, index);
            return font;
        }
    }
    textshim_font_close(font);
    return NULL;
}

void textshim_font_close(textshim_font *font) {
    if (!font) return;
    if (font->shaper) font->hb->hb_font_destroy(font->shaper);
    if (font->stroker) font->ft->FT_Stroker_Done(font->stroker);
    if (font->face) font->ft->FT_Done_Face(font->face);
    if (font->library) font->ft->FT_Done_FreeType(font->library);
    free(font->bytes);
    free(font);
}

int32_t textshim_font_shapes(const textshim_font *font) { return font->shaper != NULL; }

int32_t textshim_font_set_size(textshim_font *font, int32_t size, textshim_metrics *metrics) {
    /* At 72 dots per inch a point is a pixel. */
    if (font->ft->FT_Set_Char_Size(font->face, 0, size, 72, 72) != 0) return -1;
    FT_Fixed scale = font->face->size->metrics.y_scale;
    metrics->ascender = (int32_t)font->ft->FT_MulFix(font->face->ascender, scale);
    metrics->descender = (int32_t)font->ft->FT_MulFix(font->face->descender, scale);
    metrics->height = (int32_t)font->ft->FT_MulFix(font->face->height, scale);
    if (font->shaper) font->hb->hb_font_set_scale(font->shaper, size, size);
    return 0;
}

uint32_t textshim_font_glyph(textshim_font *font, uint32_t character) {
    return font->ft->FT_Get_Char_Index(font->face, character);
}

uint32_t textshim_script(uint32_t character) {
    const text_harfbuzz *hb = text_load_harfbuzz();
    return hb ? hb->hb_unicode_script(hb->hb_unicode_funcs_get_default(), character) : 0;
}

static int64_t shape_plainly(
    textshim_font *font, const uint32_t *characters, uint32_t count, int32_t is_right_to_left, textshim_glyph *glyphs,
    uint32_t capacity) {
    if (count > capacity) return -1;
    FT_UInt last = 0;
    for (uint32_t i = 0; i < count; i++) {
        FT_UInt index = font->ft->FT_Get_Char_Index(font->face, characters[is_right_to_left ? count - 1 - i : i]);
        if (font->ft->FT_Load_Glyph(font->face, index, LOAD_FLAGS) != 0) return -1;
        FT_Vector kerning = {0, 0};
        if (i > 0 && FT_HAS_KERNING(font->face)) {
            font->ft->FT_Get_Kerning(font->face, last, index, FT_KERNING_UNFITTED, &kerning);
            glyphs[i - 1].advance += (int32_t)kerning.x;
        }
        /* The unhinted advance has 1/65536 pixel. */
        glyphs[i] = (textshim_glyph){.index = index, .advance = (int32_t)(font->face->glyph->linearHoriAdvance / 1024)};
        last = index;
    }
    return count;
}

int64_t textshim_font_shape(
    textshim_font *font, const uint32_t *characters, uint32_t count, int32_t is_right_to_left, textshim_glyph *glyphs,
    uint32_t capacity) {
    if (!font->shaper) return shape_plainly(font, characters, count, is_right_to_left, glyphs, capacity);
    const text_harfbuzz *hb = font->hb;
    void *buffer = hb->hb_buffer_create();
    hb->hb_buffer_add_codepoints(buffer, characters, (int)count, 0, (int)count);
    hb->hb_buffer_set_direction(buffer, is_right_to_left ? HB_RIGHT_TO_LEFT : HB_LEFT_TO_RIGHT);
    hb->hb_buffer_guess_segment_properties(buffer);
    hb->hb_shape(font->shaper, buffer, NULL, 0);
    unsigned found = 0, places = 0;
    const text_hb_info *infos = hb->hb_buffer_get_glyph_infos(buffer, &found);
    const text_hb_position *positions = hb->hb_buffer_get_glyph_positions(buffer, &places);
    int64_t result = -1;
    if (hb->hb_buffer_allocation_successful(buffer) && found == places && found <= capacity) {
        for (unsigned i = 0; i < found; i++)
            glyphs[i] = (textshim_glyph){
                .index = infos[i].codepoint, .advance = positions[i].x_advance, .x = positions[i].x_offset,
                .y = positions[i].y_offset};
        result = found;
    }
    hb->hb_buffer_destroy(buffer);
    return result;
}

/* Loads a glyph moved by the fraction of a pixel; NULL in *glyph for a space. */
static int load(textshim_font *font, const textshim_mark *mark, FT_Glyph *glyph) {
    const text_freetype *ft = font->ft;
    *glyph = NULL;
    if (mark->x > LARGEST_POSITION || mark->x < -LARGEST_POSITION || mark->y > LARGEST_POSITION ||
        mark->y < -LARGEST_POSITION)
        return -1;
    if (ft->FT_Load_Glyph(font->face, mark->index, LOAD_FLAGS) != 0) return -1;
    if (font->face->glyph->format != FT_GLYPH_FORMAT_OUTLINE) return -1;
    if (font->face->glyph->outline.n_points == 0) return 0;
    if (ft->FT_Get_Glyph(font->face->glyph, glyph) != 0) return -1;
    ft->FT_Outline_Translate(&((FT_OutlineGlyph)*glyph)->outline, mark->x & 63, mark->y & 63);
    if (mark->radius > 0) {
        ft->FT_Stroker_Set(font->stroker, mark->radius, FT_STROKER_LINECAP_ROUND, FT_STROKER_LINEJOIN_ROUND, 0);
        /* The glyph stays valid if this fails. */
        if (ft->FT_Glyph_StrokeBorder(glyph, font->stroker, 0, 1) != 0) {
            ft->FT_Done_Glyph(*glyph);
            *glyph = NULL;
            return -1;
        }
    }
    return 0;
}

/* Whole pixels, rounded down also below zero. */
static int32_t whole(int32_t position) { return position >= 0 ? position / 64 : -((63 - position) / 64); }

static int area_of(textshim_font *font, FT_Glyph glyph, const textshim_mark *mark, textshim_area *area) {
    FT_BBox box;
    font->ft->FT_Glyph_Get_CBox(glyph, FT_GLYPH_BBOX_PIXELS, &box);
    if (box.xMin < -LONGEST_SIDE || box.yMin < -LONGEST_SIDE || box.xMax > LONGEST_SIDE || box.yMax > LONGEST_SIDE)
        return -1;
    if ((box.xMax - box.xMin) * (box.yMax - box.yMin) > LARGEST_AREA) return -1;
    int32_t x = whole(mark->x), y = whole(mark->y);
    *area = (textshim_area){
        .left = x + (int32_t)box.xMin, .bottom = y + (int32_t)box.yMin, .right = x + (int32_t)box.xMax,
        .top = y + (int32_t)box.yMax};
    return 0;
}

int32_t textshim_font_area(textshim_font *font, const textshim_mark *mark, textshim_area *area) {
    FT_Glyph glyph;
    *area = (textshim_area){0};
    if (load(font, mark, &glyph) != 0) return -1;
    if (!glyph) return 0;
    int status = area_of(font, glyph, mark, area);
    font->ft->FT_Done_Glyph(glyph);
    return status;
}

static void add(const FT_Bitmap *bitmap, int64_t x, int64_t y, uint8_t *coverage, int32_t width, int32_t height) {
    for (int64_t row = 0; row < bitmap->rows; row++) {
        if (y + row < 0 || y + row >= height) continue;
        const uint8_t *source = bitmap->buffer + row * bitmap->pitch;
        for (int64_t column = 0; column < bitmap->width; column++) {
            if (x + column < 0 || x + column >= width) continue;
            uint8_t *target = coverage + (y + row) * width + x + column;
            /* Glyphs that overlap or meet cover as independent layers do. */
            *target = (uint8_t)(*target + ((255 - *target) * source[column] + 127) / 255);
        }
    }
}

int32_t textshim_font_draw(
    textshim_font *font, const textshim_mark *mark, int32_t left, int32_t top, uint8_t *coverage, int32_t width,
    int32_t height) {
    FT_Glyph glyph;
    if (load(font, mark, &glyph) != 0) return -1;
    if (!glyph) return 0;
    textshim_area area;
    int status = area_of(font, glyph, mark, &area);
    if (status == 0 && font->ft->FT_Glyph_To_Bitmap(&glyph, FT_RENDER_MODE_NORMAL, NULL, 1) != 0) status = -1;
    if (status == 0) {
        FT_BitmapGlyph bitmap = (FT_BitmapGlyph)glyph;
        add(&bitmap->bitmap, (int64_t)whole(mark->x) + bitmap->left - left, (int64_t)top - whole(mark->y) - bitmap->top,
            coverage, width, height);
    }
    font->ft->FT_Done_Glyph(glyph);
    return status;
}
