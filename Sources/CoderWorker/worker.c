#define _GNU_SOURCE
#include "worker.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "confinement.h"
#include "descriptors.h"
#include "filter.h"
#include "guardian.h"
#include "parallel.h"
#include "session.h"
#include "violation.h"
#include "worker_exit.h"

session current;
iso_shared *shared_page;

static void close_session(void) {
    decoder_close();
    encoder_close();
    sink_flush();
    sink_end();
    source_close();
    memset(&current.limits, 0, sizeof current.limits);
    current.coder = NULL;
}

static void serve(wire_message *message) {
    iso_reply reply;
    memset(&reply, 0, sizeof reply);
    reply.error.size = sizeof reply.error;
    struct iovec parts[5] = {{&reply, sizeof reply}};
    int count = 1;
    current.sequence = message->sequence;
    violation_context(message->session, message->sequence, message->type);
    __atomic_store_n(&shared_page->phase, message->type, __ATOMIC_RELEASE);
    if (message->type == ISO_CLOSE) {
        close_session();
    } else if (message->type == ISO_OPEN_DECODER || message->type == ISO_OPEN_ENCODER ||
               message->type == ISO_REWRITE || message->type == ISO_TRANSCODE) {
        if (current.decoder || current.encoder) {
            wire_malformed();
        }
        current.id = message->session;
    } else if (message->session != current.id) {
        wire_malformed();
    }
    if (message->type != ISO_CLOSE) {
        if (!decoder_serve(message, &reply) && !encoder_serve(message, &reply) && !rewrite_serve(message, &reply)) {
            wire_malformed();
        }
        if (message->type == ISO_BLOB) {
            count += decoder_reply_tail(&reply, parts + 1);
        }
        cpi_status refusal = sink_rest(&parts[count], &reply.written);
        count += reply.written > 0;
        if (refusal != CPI_OK && reply.status >= 0) {
            reply.status = refusal;
        }
    }
    __atomic_store_n(&shared_page->phase, 0, __ATOMIC_RELEASE);
    wire_send(ISO_REPLY, message->session, message->sequence, parts, count);
}

/* Waits for a request; between sessions only until the idle timeout. */
static void wait_for_request(uint32_t idle_seconds) {
    if (idle_seconds == 0 || current.decoder || current.encoder) {
        return;
    }
    struct pollfd host = {.fd = ISO_CONTROL_DESCRIPTOR, .events = POLLIN};
    int limit = idle_seconds < 86400 ? (int)idle_seconds * 1000 : 86400000;
    if (poll(&host, 1, limit) == 0) {
        worker_exit(EXIT_GONE);
    }
}

_Noreturn void worker_run(int socket, int shared, const iso_fork *limits, int record, uint32_t idle_seconds) {
    shared_page = mmap(NULL, sizeof *shared_page, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
    if (shared_page == MAP_FAILED ||
        (socket != ISO_CONTROL_DESCRIPTOR && dup2(socket, ISO_CONTROL_DESCRIPTOR) != ISO_CONTROL_DESCRIPTOR)) {
        worker_exit(EXIT_RESOURCES);
    }
    close_from(ISO_CONTROL_DESCRIPTOR + 1);
    /* The guardian set the memory limit before the fork; the worker cannot change it. */
    confine_worker_limits(guardian_holds ? 0 : limits->data_bytes, guardian_holds ? 0 : limits->address_bytes,
                          limits->cpu_seconds);
    violation_record(record ? shared_page : NULL);
    violation_context(0, 0, 0);
    /* Without a guardian, the filter denies threads that the plugin has not declared. */
    parallel_begin(guardian_holds || limits->threads ? limits->pool : 0);
    filter_seal(limits->threads != 0, record);
    iso_ready ready = {confinement};
    wire_send_descriptor(ISO_READY, 0, &ready, sizeof ready, -1);
    wire_message message;
    for (;;) {
        wait_for_request(idle_seconds);
        wire_receive(&message);
        serve(&message);
        wire_drop(&message);
    }
}
