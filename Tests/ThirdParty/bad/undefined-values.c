/* Uses values that the contract does not define. -DCASE=1 ... 24; the default is 1. */
#define _GNU_SOURCE
#include <coder_plugin.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef CASE
#define CASE 1
#endif

#define UPPER_BIT ((uint32_t)1 << 31)
#define RESERVED  ((uint32_t)0xdeadbeef)
#define RGB ((cpi_pixel_format){CPI_CHANNELS_RGB, CPI_NUMERIC_UNORM, 8, CPI_ALPHA_NONE, 0, 0, 0})
#define NEW ((cpi_pixel_format){99, 98, 24, CPI_ALPHA_NONE, 0, 0, 0})

#if CASE == 1
#define DECODE_ANSWER 17
#elif CASE == 2
#define DECODE_ANSWER CPI_END
#elif CASE == 3
#define HEADER_ANSWER 17
#elif CASE == 4
#define FRAME_ANSWER CPI_PARTIAL
#elif CASE == 5
#define SOURCE_ANSWER CPI_END
#elif CASE == 6
#define BEFORE_OPEN return 17;
#elif CASE == 7
#define CHANGE_INFO info->flags |= UPPER_BIT;
#elif CASE == 8
#define CHANGE_INFO info->color.reserved[1] = RESERVED;
#elif CASE == 9
#define CHANGE_INFO info->color.flags |= UPPER_BIT;
#elif CASE == 10
#define CHANGE_INFO info->color.reserved[0] = RESERVED;
#elif CASE == 11
#define CHANGE_FRAME frame->flags |= UPPER_BIT;
#elif CASE == 12
#define CHANGE_FRAME frame->reserved = RESERVED;
#elif CASE == 13
#define THE_OFFER {.flags = UPPER_BIT, .format = RGB}
#elif CASE == 14
#define THE_OFFER {.reserved = RESERVED, .format = RGB}
#elif CASE == 15
#define CHANGE_INFO info->native = NEW;
#elif CASE == 16
#define CHANGE_INFO info->native.reserved = 0xef;
#elif CASE == 17
#define CHANGE_FRAME frame->blend = 9;
#elif CASE == 18
#define CHANGE_FRAME frame->disposal = 9;
#elif CASE == 19
#define CHANGE_INFO info->loop_kind = 9;
#elif CASE == 20
#define CHANGE_INFO info->density_unit = 9;
#elif CASE == 24
#define CHANGE_INFO info->orientation = 9;
/* From here on, cases that the host accepts. */
#elif CASE == 21 /* another format beside the new one */
#define CHANGE_INFO info->native = NEW;
#define THE_OFFER {.format = RGB}
#elif CASE == 22 /* the host must treat an unknown value as one thread at a time */
#define CONCURRENCY   7
#define BEFORE_DECODE                                                                                                  \
    static int inside;                                                                                                 \
    if (__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST) > 1) return answer(error, CPI_INTERNAL);                      \
    usleep(20000);                                                                                                     \
    __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
#elif CASE == 23 /* a session that was freed because it could not be opened */
#define BEFORE_OPEN                                                                                                    \
    *decoder = malloc(sizeof **decoder);                                                                               \
    free(*decoder);                                                                                                    \
    return answer(error, CPI_CORRUPT);
#endif

#ifdef THE_OFFER
#include <string.h>
static cpi_status offer_one(cpi_decoder *d, uint32_t index, cpi_format_offer *offer, cpi_error *error) {
    (void)d, (void)error;
    if (index > 0) return CPI_END;
    cpi_format_offer mine = THE_OFFER;
    memcpy((char *)offer + 4, (char *)&mine + 4, sizeof mine - 4);
    return CPI_OK;
}
#define OFFER offer_one
#endif
#include "plugin.h"
