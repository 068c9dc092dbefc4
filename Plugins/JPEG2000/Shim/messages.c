/*
 * messages.c - keeps the first error and the first different warnings.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "messages.h"
#include <string.h>

/* Copies one line. */
static void copy_line(char *target, const char *text)
{
    size_t count = strcspn(text, "\r\n");
    if (count >= jp2_message_size) count = jp2_message_size - 1;
    memcpy(target, text, count);
    target[count] = 0;
}

static void note_warning(const char *text, void *context)
{
    jp2_messages *messages = context;
    char          line[jp2_message_size];
    copy_line(line, text);
    if (!line[0] || messages->noted == jp2_warning_count) return;
    for (uint32_t i = 0; i < messages->noted; i++)
        if (strcmp(messages->warnings[i], line) == 0) return;
    memcpy(messages->warnings[messages->noted++], line, sizeof line);
}

static void note_error(const char *text, void *context)
{
    jp2_messages *messages = context;
    /* The library continues after this one. */
    if (strstr(text, "Skip the MCT step")) {
        note_warning(text, context);
        return;
    }
    /* Later ones state that the functions around the first have failed, too. */
    if (!messages->error[0]) copy_line(messages->error, text);
}

static void ignore(const char *text, void *context)
{
    (void)text;
    (void)context;
}

void jp2_keep_messages(opj_codec_t *codec, jp2_messages *messages)
{
    opj_set_info_handler(codec, ignore, NULL);
    opj_set_warning_handler(codec, note_warning, messages);
    opj_set_error_handler(codec, note_error, messages);
}
