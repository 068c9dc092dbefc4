/*
 * messages.h - keeps the messages of a codec of OpenJPEG, so that nothing is printed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef JP2_SHIM_MESSAGES_H
#define JP2_SHIM_MESSAGES_H
#include <openjpeg-2.5/openjpeg.h>
#include <stdint.h>

enum { jp2_message_size = 256, jp2_warning_count = 8 };

typedef struct jp2_messages {
    char     error[jp2_message_size];
    char     warnings[jp2_warning_count][jp2_message_size];
    uint32_t noted, told;
} jp2_messages;

void jp2_keep_messages(opj_codec_t *codec, jp2_messages *messages);

#endif
