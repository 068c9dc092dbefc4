/* text_catalogue.c - fonts by fontconfig, loaded on first use. SPDX-License-Identifier: Apache-2.0 */
#include "text_libraries.h"
#include "text_shim.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The stable part of fontconfig's binary interface that the shim uses: the numbers of its enumerations. */
enum { MATCH_PATTERN = 0, RESULT_MATCH = 0 };

static struct {
    void *(*FcNameParse)(const unsigned char *);
    void *(*FcPatternCreate)(void);
    void (*FcPatternDestroy)(void *);
    int (*FcPatternAddString)(void *, const char *, const unsigned char *);
    int (*FcPatternAddBool)(void *, const char *, int);
    int (*FcPatternAddCharSet)(void *, const char *, const void *);
    void *(*FcCharSetCreate)(void);
    int (*FcCharSetAddChar)(void *, uint32_t);
    void (*FcCharSetDestroy)(void *);
    int (*FcConfigSubstitute)(void *, void *, int);
    void (*FcDefaultSubstitute)(void *);
    void *(*FcFontMatch)(void *, void *, int *);
    int (*FcPatternGetString)(const void *, const char *, int, unsigned char **);
    int (*FcPatternGetInteger)(const void *, const char *, int, int *);
} fc;
static int has_fontconfig;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void load(void) {
    static const char *const names[] = {
        "FcNameParse", "FcPatternCreate", "FcPatternDestroy", "FcPatternAddString", "FcPatternAddBool",
        "FcPatternAddCharSet", "FcCharSetCreate", "FcCharSetAddChar", "FcCharSetDestroy", "FcConfigSubstitute",
        "FcDefaultSubstitute", "FcFontMatch", "FcPatternGetString", "FcPatternGetInteger",
    };
    void *const slots[] = {
        &fc.FcNameParse, &fc.FcPatternCreate, &fc.FcPatternDestroy, &fc.FcPatternAddString, &fc.FcPatternAddBool,
        &fc.FcPatternAddCharSet, &fc.FcCharSetCreate, &fc.FcCharSetAddChar, &fc.FcCharSetDestroy,
        &fc.FcConfigSubstitute, &fc.FcDefaultSubstitute, &fc.FcFontMatch, &fc.FcPatternGetString,
        &fc.FcPatternGetInteger,
    };
    has_fontconfig = text_load("libfontconfig.so.1", names, slots, sizeof names / sizeof *names);
}

static int is_generic(const char *name) {
    static const char *const names[] = {"sans", "sans-serif", "serif", "monospace", "mono", "cursive", "fantasy"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i]) == 0) return 1;
    return 0;
}

/* Whether the font has the first family of the request among its names. */
static int is_named(const void *request, const void *found) {
    unsigned char *wanted, *name;
    if (fc.FcPatternGetString(request, "family", 0, &wanted) != RESULT_MATCH) return 1;
    if (is_generic((const char *)wanted)) return 1;
    for (int i = 0; fc.FcPatternGetString(found, "family", i, &name) == RESULT_MATCH; i++)
        if (strcasecmp((const char *)wanted, (const char *)name) == 0) return 1;
    return 0;
}

static void *request(const char *name, const uint32_t *characters, uint32_t count) {
    if (name) return fc.FcNameParse((const unsigned char *)name);
    void *pattern = fc.FcPatternCreate();
    if (!pattern) return NULL;
    fc.FcPatternAddString(pattern, "family", (const unsigned char *)"sans-serif");
    void *set = fc.FcCharSetCreate();
    if (!set) return pattern;
    for (uint32_t i = 0; i < count; i++) fc.FcCharSetAddChar(set, characters[i]);
    fc.FcPatternAddCharSet(pattern, "charset", set);
    fc.FcCharSetDestroy(set);
    return pattern;
}

static int32_t find(
    const char *name, const uint32_t *characters, uint32_t count, char *path, char *family, int32_t *index) {
    void *original = request(name, characters, count), *pattern = request(name, characters, count), *found = NULL;
    unsigned char *text;
    int32_t status = 2;
    int result = 0, number = 0;
    if (original && pattern) {
        fc.FcPatternAddBool(pattern, "outline", 1);
        if (fc.FcConfigSubstitute(NULL, pattern, MATCH_PATTERN)) {
            fc.FcDefaultSubstitute(pattern);
            found = fc.FcFontMatch(NULL, pattern, &result);
        }
    }
    if (found && fc.FcPatternGetString(found, "file", 0, &text) == RESULT_MATCH &&
        strlen((const char *)text) < TEXTSHIM_PATH) {
        strcpy(path, (const char *)text);
        if (fc.FcPatternGetInteger(found, "index", 0, &number) == RESULT_MATCH) *index = number;
        if (fc.FcPatternGetString(found, "family", 0, &text) == RESULT_MATCH)
            snprintf(family, TEXTSHIM_FAMILY, "%s", (const char *)text);
        status = is_named(original, found) ? 0 : 1;
    }
    if (found) fc.FcPatternDestroy(found);
    if (pattern) fc.FcPatternDestroy(pattern);
    if (original) fc.FcPatternDestroy(original);
    return status;
}

int32_t textshim_find(
    const char *name, const uint32_t *characters, uint32_t count, char *path, char *family, int32_t *index) {
    pthread_once(&once, load);
    if (!has_fontconfig) return -1;
    path[0] = family[0] = 0;
    *index = 0;
    pthread_mutex_lock(&lock);
    int32_t status = find(name, characters, count, path, family, index);
    pthread_mutex_unlock(&lock);
    return status;
}
