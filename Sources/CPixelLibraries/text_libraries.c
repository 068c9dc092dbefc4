/* text_libraries.c - see the header. SPDX-License-Identifier: Apache-2.0 */
#include "text_libraries.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

int text_load(const char *library, const char *const *names, void *const *slots, unsigned count) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return 0;
    for (unsigned i = 0; i < count; i++) {
        void *symbol = dlsym(handle, names[i]);
        if (!symbol) {
            dlclose(handle);
            return 0;
        }
        /* C has no conversion from an object pointer to a function pointer. */
        memcpy(slots[i], &symbol, sizeof symbol);
    }
    return 1;
}

static text_freetype freetype;
static int has_freetype;
static pthread_once_t freetype_once = PTHREAD_ONCE_INIT;

static void load_freetype(void) {
#define TEXT_NAME(name) #name,
#define TEXT_SLOT(name) &freetype.name,
    static const char *const names[] = {TEXT_FREETYPE(TEXT_NAME)};
    void *const slots[] = {TEXT_FREETYPE(TEXT_SLOT)};
    has_freetype = text_load("libfreetype.so.6", names, slots, sizeof names / sizeof *names);
}

const text_freetype *text_load_freetype(void) {
    pthread_once(&freetype_once, load_freetype);
    return has_freetype ? &freetype : NULL;
}

static text_harfbuzz harfbuzz;
static int has_harfbuzz;
static pthread_once_t harfbuzz_once = PTHREAD_ONCE_INIT;

static void load_harfbuzz(void) {
    static const char *const names[] = {
        "hb_blob_create", "hb_blob_destroy", "hb_face_create", "hb_face_destroy", "hb_font_create", "hb_font_destroy",
        "hb_font_set_scale", "hb_ot_font_set_funcs", "hb_buffer_create", "hb_buffer_destroy",
        "hb_buffer_add_codepoints", "hb_buffer_set_direction", "hb_buffer_guess_segment_properties",
        "hb_buffer_allocation_successful", "hb_buffer_get_glyph_infos", "hb_buffer_get_glyph_positions", "hb_shape",
        "hb_unicode_funcs_get_default", "hb_unicode_script",
    };
    void *const slots[] = {
        &harfbuzz.hb_blob_create, &harfbuzz.hb_blob_destroy, &harfbuzz.hb_face_create, &harfbuzz.hb_face_destroy,
        &harfbuzz.hb_font_create, &harfbuzz.hb_font_destroy, &harfbuzz.hb_font_set_scale,
        &harfbuzz.hb_ot_font_set_funcs, &harfbuzz.hb_buffer_create, &harfbuzz.hb_buffer_destroy,
        &harfbuzz.hb_buffer_add_codepoints, &harfbuzz.hb_buffer_set_direction,
        &harfbuzz.hb_buffer_guess_segment_properties, &harfbuzz.hb_buffer_allocation_successful,
        &harfbuzz.hb_buffer_get_glyph_infos, &harfbuzz.hb_buffer_get_glyph_positions, &harfbuzz.hb_shape,
        &harfbuzz.hb_unicode_funcs_get_default, &harfbuzz.hb_unicode_script,
    };
    has_harfbuzz = text_load("libharfbuzz.so.0", names, slots, sizeof names / sizeof *names);
}

const text_harfbuzz *text_load_harfbuzz(void) {
    pthread_once(&harfbuzz_once, load_harfbuzz);
    return has_harfbuzz ? &harfbuzz : NULL;
}
