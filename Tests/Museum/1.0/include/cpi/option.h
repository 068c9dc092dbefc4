/*
 * option.h - typed options. The manifest holds the schema (type, range, default, scope, one sentence), so the host
 * checks a value before any plugin code runs, and a person can list the options of a coder.
 *
 * Keys without a dot have one meaning in every coder: `quality` (f64, 0 ... 100), `lossless` (bool), `effort` (i64,
 * 0 ... 9), `threads` (i64), `first-frame-only` (bool), `every-scan` (bool). A coder's own keys are `<coder>.<name>`,
 * with the last part of the coder's id in front; callers pass them to decoders and encoders alike.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CPI_OPTION_H
#define CPI_OPTION_H
#include "status.h"
CPI_ASSUME_NONNULL_BEGIN

#define CPI_OPTION_BOOL   ((uint32_t)1)  /* integer: 0 or 1                                   */
#define CPI_OPTION_I64    ((uint32_t)2)  /* integer                                           */
#define CPI_OPTION_F64    ((uint32_t)3)  /* real                                              */
#define CPI_OPTION_STRING ((uint32_t)4)  /* bytes, length; also NUL-terminated                */
#define CPI_OPTION_BYTES  ((uint32_t)5)  /* bytes, length                                     */
#define CPI_OPTION_ENUM   ((uint32_t)6)  /* bytes, length: one of the schema's names          */

/* With this bit a coder ignores a key that it does not know; without it, it returns CPI_INVALID_ARGUMENT. */
#define CPI_OPTION_HINT ((uint32_t)0x01)

typedef struct cpi_option {
    uint32_t                    size;
    uint32_t                    type;   /* CPI_OPTION_... */
    uint32_t                    flags;
    uint32_t                    reserved;
    const char                 *key;
    int64_t                     integer;
    double                      real;
    const uint8_t *CPI_NULLABLE bytes;
    uint64_t                    length;
} cpi_option;

/*
 * All options of a session. Element i is at (const char *)items + i * stride, so that the element may grow in a later
 * minor. Valid only during open.
 */
typedef struct cpi_options {
    uint32_t                       size;
    uint32_t                       count;
    uint64_t                       stride;
    const cpi_option *CPI_NULLABLE items;
} cpi_options;

CPI_ASSUME_NONNULL_END
#endif
