/* text_libraries.h - the functions of FreeType and HarfBuzz, loaded on first use. SPDX-License-Identifier: Apache-2.0 */
#ifndef TEXT_LIBRARIES_H
#define TEXT_LIBRARIES_H

#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_GLYPH_H
#include FT_OUTLINE_H
#include FT_STROKER_H

#include <stdint.h>

#define TEXT_FREETYPE(X)                                                                                              \
    X(FT_Init_FreeType)                                                                                               \
    X(FT_Done_FreeType)                                                                                               \
    X(FT_New_Memory_Face)                                                                                             \
    X(FT_Done_Face)                                                                                                   \
    X(FT_Set_Char_Size)                                                                                               \
    X(FT_Get_Char_Index)                                                                                              \
    X(FT_Load_Glyph)                                                                                                  \
    X(FT_Get_Kerning)                                                                                                 \
    X(FT_MulFix)                                                                                                      \
    X(FT_Get_Glyph)                                                                                                   \
    X(FT_Done_Glyph)                                                                                                  \
    X(FT_Glyph_StrokeBorder)                                                                                          \
    X(FT_Glyph_Get_CBox)                                                                                              \
    X(FT_Glyph_To_Bitmap)                                                                                             \
    X(FT_Outline_Translate)                                                                                           \
    X(FT_Stroker_New)                                                                                                 \
    X(FT_Stroker_Set)                                                                                                 \
    X(FT_Stroker_Done)

#define TEXT_MEMBER(name) __typeof__(name) *name;
typedef struct text_freetype {
    TEXT_FREETYPE(TEXT_MEMBER)
} text_freetype;

/* The stable part of HarfBuzz's binary interface that the shim uses. */
typedef struct text_hb_info {
    uint32_t codepoint, mask, cluster, reserved[2];
} text_hb_info;

typedef struct text_hb_position {
    int32_t x_advance, y_advance, x_offset, y_offset;
    uint32_t reserved;
} text_hb_position;

typedef struct text_harfbuzz {
    void *(*hb_blob_create)(const char *, unsigned, int, void *, void (*)(void *));
    void (*hb_blob_destroy)(void *);
    void *(*hb_face_create)(void *, unsigned);
    void (*hb_face_destroy)(void *);
    void *(*hb_font_create)(void *);
    void (*hb_font_destroy)(void *);
    void (*hb_font_set_scale)(void *, int, int);
    void (*hb_ot_font_set_funcs)(void *);
    void *(*hb_buffer_create)(void);
    void (*hb_buffer_destroy)(void *);
    void (*hb_buffer_add_codepoints)(void *, const uint32_t *, int, unsigned, int);
    void (*hb_buffer_set_direction)(void *, int);
    void (*hb_buffer_guess_segment_properties)(void *);
    int (*hb_buffer_allocation_successful)(void *);
    text_hb_info *(*hb_buffer_get_glyph_infos)(void *, unsigned *);
    text_hb_position *(*hb_buffer_get_glyph_positions)(void *, unsigned *);
    void (*hb_shape)(void *, void *, const void *, unsigned);
    void *(*hb_unicode_funcs_get_default)(void);
    uint32_t (*hb_unicode_script)(void *, uint32_t);
} text_harfbuzz;

/* NULL if the library is not installed. Thread-safe. */
const text_freetype *text_load_freetype(void);
const text_harfbuzz *text_load_harfbuzz(void);

/* Loads a library and its functions into a table of pointers; returns 0 if one of them is missing. */
int text_load(const char *library, const char *const *names, void *const *slots, unsigned count);

#endif
