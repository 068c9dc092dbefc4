#include "session.h"

#include <string.h>

/* Collected output, so that a coder that writes single bytes does not cost a packet each. */
static uint8_t gathered[ISO_BODY_LIMIT - sizeof(iso_write)];
static size_t gathered_count;
/* The first failure of the host; nothing is written after it. */
static cpi_status failure;

static cpi_status send_bytes(uint16_t type, uint64_t offset, const uint8_t *bytes, size_t count) {
    iso_write write = {.offset = offset, .length = count};
    struct iovec parts[2] = {{&write, sizeof write}, {(void *)bytes, count}};
    wire_send(type, current.id, current.sequence, parts, 2);
    failure = wire_receive_written(current.id, current.sequence);
    return failure;
}

cpi_status sink_flush(void) {
    if (failure == CPI_OK && gathered_count > 0) {
        size_t count = gathered_count;
        gathered_count = 0;
        send_bytes(ISO_WRITE, 0, gathered, count);
    }
    return failure;
}

cpi_status sink_rest(struct iovec *part, uint32_t *count) {
    if (failure == CPI_OK && gathered_count > 0) {
        *part = (struct iovec){gathered, gathered_count};
        *count = (uint32_t)gathered_count;
        gathered_count = 0;
    }
    return failure;
}

static cpi_status append(void *ctx, const uint8_t *bytes, uint64_t count) {
    (void)ctx;
    if (count > INT64_MAX) {
        return CPI_IO;
    }
    while (failure == CPI_OK && count > 0) {
        size_t room = sizeof gathered - gathered_count;
        size_t part = count < room ? (size_t)count : room;
        memcpy(gathered + gathered_count, bytes, part);
        gathered_count += part;
        bytes += part;
        count -= part;
        if (gathered_count == sizeof gathered) {
            sink_flush();
        }
    }
    return failure;
}

static cpi_status overwrite(void *ctx, uint64_t offset, const uint8_t *bytes, uint64_t count) {
    (void)ctx;
    if (count > INT64_MAX || offset > INT64_MAX - count) {
        return CPI_IO;
    }
    sink_flush();
    do {
        size_t part = count < sizeof gathered ? (size_t)count : sizeof gathered;
        if (failure != CPI_OK || send_bytes(ISO_WRITE_AT, offset, bytes, part) != CPI_OK) {
            break;
        }
        offset += part;
        bytes += part;
        count -= part;
    } while (count > 0);
    return failure;
}

void sink_begin(uint32_t flags) {
    int seekable = (flags & CPI_SINK_SEEKABLE) != 0;
    gathered_count = 0;
    failure = CPI_OK;
    current.sink = (cpi_sink){.size = sizeof current.sink,
                              .flags = seekable ? CPI_SINK_SEEKABLE : 0,
                              .ctx = &current,
                              .write = append,
                              .write_at = seekable ? overwrite : NULL};
}

void sink_end(void) {
    gathered_count = 0;
    failure = CPI_OK;
}
