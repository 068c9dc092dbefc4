/*
 * session.h - optional, for plugins in C: the rules that every session keeps, as inline functions without I/O and
 * without global state. Make cpi_session the first field of cpi_decoder and cpi_encoder. Begin every call with
 * cpi_session_enter. Return each status other than CPI_OK that one of these functions returns.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CPI_SESSION_H
#define CPI_SESSION_H
#include "decoder.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
CPI_ASSUME_NONNULL_BEGIN

/* The states of decoder.h and encoder.h, as bits: a call names all states in which it is legal. */
enum {
    CPI_SESSION_OPENED = 1, CPI_SESSION_SOURCED = 2, CPI_SESSION_HEADER = 4, CPI_SESSION_FRAME = 8,
    CPI_SESSION_DECODED = 16, CPI_SESSION_BEGUN = 32, CPI_SESSION_FRAMED = 64, CPI_SESSION_FINISHED = 128
};

typedef struct cpi_session {
    const cpi_services            *services;
    cpi_limits                     limits;
    const cpi_source *CPI_NULLABLE source;  /* store it in set_source           */
    const cpi_sink *CPI_NULLABLE   sink;    /* store it in begin                */
    uint32_t                       state;   /* CPI_SESSION_...                  */
    cpi_error                      failure; /* the first one; code 0 until then */
} cpi_session;

/* Copies a struct from or to the host: the bytes that both sides know, without the size. */
static inline void cpi_session_copy(void *to, const void *from) {
    uint32_t count, other, skip = sizeof count;
    memcpy(&count, to, sizeof count);
    memcpy(&other, from, sizeof other);
    count = other < count ? other : count;
    if (count > skip) memcpy((char *)to + skip, (const char *)from + skip, count - skip);
}

/* Fills `error` with printf's text and a byte position (0 = none) and returns `status`. The session, NULL in open,
   keeps its first negative status. */
__attribute__((format(printf, 5, 6))) static inline cpi_status cpi_session_fail(
    cpi_session *CPI_NULLABLE s, cpi_error *error, cpi_status status, uint64_t offset, const char *format, ...) {
    cpi_error mine;
    va_list   arguments;
    memset(&mine, 0, sizeof mine);
    mine.size = sizeof mine, mine.code = status, mine.input_offset = offset;
    va_start(arguments, format);
    vsnprintf(mine.message, sizeof mine.message, format, arguments);
    va_end(arguments);
    if (status == CPI_UNSUPPORTED) memcpy(mine.feature, mine.message, sizeof mine.feature - 1);
    if (s && s->failure.code == CPI_OK && status < 0) s->failure = mine;
    cpi_session_copy(error, &mine);
    return status;
}

/* Fails the session with CPI_LIMIT; `id` is a CPI_LIMIT_... */
static inline cpi_status cpi_session_over(cpi_session *s, cpi_error *error, uint32_t id, uint64_t allowed,
                                          uint64_t requested) {
    cpi_session_fail(s, error, CPI_LIMIT, 0, "a limit of the host is exceeded");
    s->failure.limit_id = id, s->failure.limit_allowed = allowed, s->failure.limit_requested = requested;
    cpi_session_copy(error, &s->failure);
    return CPI_LIMIT;
}

/* Allocates `count` zeroed bytes for a cpi_decoder or cpi_encoder. NULL: return CPI_NO_MEMORY, `error` is filled. */
static inline void *CPI_NULLABLE cpi_session_open(const cpi_services *services, const cpi_limits *limits, size_t count,
                                                  cpi_error *error) {
    cpi_session *s = (cpi_session *)services->allocate(services->ctx, count);
    if (!s) return cpi_session_fail(NULL, error, CPI_NO_MEMORY, 0, "no memory for a session"), (void *)NULL;
    memset((void *)s, 0, count);
    s->services = services, s->state = CPI_SESSION_OPENED, s->limits.size = sizeof s->limits;
    cpi_session_copy(&s->limits, limits);
    return s;
}

/* Frees the memory of cpi_session_open. Release first what the session allocated. */
static inline void cpi_session_close(cpi_session *s) { s->services->release(s->services->ctx, s); }

/* Begins a call: repeats the failure of the session; fails with CPI_MISUSE outside of `states`. */
static inline cpi_status cpi_session_enter(cpi_session *s, uint32_t states, cpi_error *error) {
    if (s->failure.code < 0) return cpi_session_copy(error, &s->failure), s->failure.code;
    return s->state & states ? CPI_OK : cpi_session_fail(s, error, CPI_MISUSE, 0, "the call is out of sequence");
}

/* Asks before every 64th row whether to continue, and reports progress. */
static inline cpi_status cpi_session_poll(cpi_session *s, uint32_t row, uint32_t rows, cpi_error *error) {
    const cpi_status answer = row % 64 ? CPI_CONTINUE : s->services->poll(s->services->ctx);
    if (answer != CPI_CONTINUE) return cpi_session_fail(s, error, answer, 0, "the host stopped the session");
    if (row % 64 == 0) s->services->progress(s->services->ctx, row, rows);
    return CPI_OK;
}

/* Reads `count` bytes at `offset`, all of them: CPI_OK, CPI_NEED_INPUT, CPI_TRUNCATED or CPI_IO. */
static inline cpi_status cpi_session_read(cpi_session *s, uint64_t offset, void *bytes, uint64_t count,
                                          cpi_error *error) {
    uint64_t         copied = 0;
    const cpi_status status = s->source->read_at(s->source->ctx, offset, (uint8_t *)bytes, count, &copied);
    if (status < 0) return cpi_session_fail(s, error, status, offset, "the source cannot be read");
    if (copied == count) return CPI_OK;
    if (status == CPI_NEED_INPUT) return CPI_NEED_INPUT;
    return cpi_session_fail(s, error, CPI_TRUNCATED, offset + copied, "the data ends too early");
}

/* Appends bytes to the output: CPI_OK, CPI_LIMIT or CPI_IO. */
static inline cpi_status cpi_session_write(cpi_session *s, const void *bytes, uint64_t count, cpi_error *error) {
    const cpi_status status  = s->sink->write(s->sink->ctx, (const uint8_t *)bytes, count);
    const uint64_t   allowed = s->limits.max_output_bytes;
    if (status == CPI_LIMIT) return cpi_session_over(s, error, CPI_LIMIT_OUTPUT_BYTES, allowed, count);
    return status < 0 ? cpi_session_fail(s, error, status, 0, "the output cannot be written") : CPI_OK;
}

/* Checks the format and size of a surface and the memory for each of its rows: CPI_OK or CPI_MISUSE. */
static inline cpi_status cpi_session_surface(cpi_session *s, const cpi_surface *surface, cpi_pixel_format format,
                                             uint32_t width, uint32_t height, cpi_error *error) {
    static const uint8_t channels[8] = {0, 1, 2, 3, 4, 4, 4, 0};
    const uint64_t       row         = (uint64_t)width * channels[format.channels & 7] * (format.bits / 8u);
    if (surface->pixels && memcmp(&surface->format, &format, sizeof format) == 0 && surface->width == width
        && surface->height == height && surface->stride >= row && surface->byte_count >= row
        && (height < 2 || surface->stride <= (surface->byte_count - row) / (height - 1)))
        return CPI_OK;
    return cpi_session_fail(s, error, CPI_MISUSE, 0, "the surface has another format or size than agreed");
}

/* Returns option number `index`, NULL behind the last. */
static inline const cpi_option *CPI_NULLABLE cpi_session_option(const cpi_options *CPI_NULLABLE all, uint32_t index) {
    if (!all || index >= all->count) return NULL;
    return (const cpi_option *)((const char *)all->items + index * all->stride);
}

CPI_ASSUME_NONNULL_END
#endif
