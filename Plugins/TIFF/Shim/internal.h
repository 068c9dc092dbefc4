/*
 * internal.h - what the files of the shim share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TIFF_SHIM_INTERNAL_H
#define TIFF_SHIM_INTERNAL_H
#include "include/tiff_shim.h"
#include <stdarg.h>
#include <tiffio.h>

enum { TEXT = 192, WARNINGS = 8 };

/* The messages of one handle: the last error, and each warning once. */
typedef struct messages {
    char     error[TEXT];
    uint32_t errors;
    char     warnings[WARNINGS][TEXT];
    uint32_t noted, told;
} messages;

struct tiff_shim_file {
    TIFF            *tiff;
    tiff_shim_source source;
    uint64_t         position;
    tiff_shim_page   page;
    messages         messages;
};

int note_error(TIFF *tiff, void *context, const char *module, const char *format, va_list arguments);
int note_warning(TIFF *tiff, void *context, const char *module, const char *format, va_list arguments);

#endif
