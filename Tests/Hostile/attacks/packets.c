/*
 * packets.c - a constructor that never returns: it imitates zygote and worker, and sends one wrong packet or none.
 *
 * The host must blame the plugin within the time limit, and must not use a number or a descriptor from such a packet.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "attack.h"

#include <isolation_wire.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum forgery {
    /* in place of ISO_LOADED */
    LOADED_SILENCE, LOADED_SHORT, LOADED_MAGIC, LOADED_UNSUPPORTED, LOADED_NOT_LOADABLE, LOADED_CODERS, LOADED_NOTHING,
    LOADED_DESCRIPTORS, LOADED_VIOLATION, LOADED_TYPE, LOADED_THREADS, LOADED_END,
    /* in place of ISO_FORKED */
    FORKED_SILENCE, FORKED_HOST, FORKED_CANARY, FORKED_ERROR, FORKED_OTHER, FORKED_DESCRIPTORS, FORKED_ENDINGS,
    FORKED_END, FORKED_SOCKET,
    /* in place of ISO_READY */
    READY_SILENCE, READY_TYPE, READY_END, READY_NOTHING, READY_SHORT, CUT_PAGE,
    /* in place of ISO_REPLY */
    OPEN_SILENCE, HEADER_SILENCE, FRAME_SILENCE, DECODE_SILENCE, CLOSE_SILENCE, OTHER_SESSION, OTHER_SEQUENCE,
    OTHER_VERSION, OTHER_TYPE, LENGTH, SHORT, ENDLESS, DESCRIPTORS, HUGE_SIZE, NO_FORMAT, UNKNOWN_STATUS, BLOB_LENGTH,
    BLOB_KEY, ENDLESS_BLOBS, ENDLESS_FRAMES, BEYOND, ENDLESS_LOG, ENDLESS_PROGRESS, WRITE_UNASKED, FALSE_VIOLATION,
    REPLY_END,
};

static enum forgery forgery;
static int      session_socket = -1;

static void stay_silent(void) {
    for (;;) wait_milliseconds(1000);
}

/* The packet carries `count` copies of a descriptor. */
static void send_forged(int socket, iso_header head, const void *body, size_t length, int descriptor, int count) {
    union {
        struct cmsghdr header;
        char           bytes[CMSG_SPACE(64 * sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    head.magic = head.magic ? head.magic : ISO_MAGIC;
    head.version = head.version ? head.version : ISO_VERSION;
    head.length = head.length ? head.length : (uint32_t)length;
    head.descriptors = (uint32_t)count;
    struct iovec  parts[2] = {{&head, sizeof head}, {(void *)(uintptr_t)body, length}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    if (count > 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
        struct cmsghdr *entry = CMSG_FIRSTHDR(&message);
        entry->cmsg_level = SOL_SOCKET;
        entry->cmsg_type = SCM_RIGHTS;
        entry->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
        for (int i = 0; i < count; i++) memcpy(CMSG_DATA(entry) + (size_t)i * sizeof(int), &descriptor, sizeof(int));
    }
    if (sendmsg(socket, &message, MSG_NOSIGNAL) < 0) syscall(SYS_exit_group, 0);
}

static size_t receive(int socket, void *room, size_t length, int *descriptors) {
    union {
        struct cmsghdr header;
        char           bytes[CMSG_SPACE(4 * sizeof(int))];
    } control;
    struct iovec    part = {room, length};
    struct msghdr   message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                               .msg_controllen = sizeof control};
    ssize_t         count = recvmsg(socket, &message, 0);
    struct cmsghdr *entry = count > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (count < (ssize_t)sizeof(iso_header)) syscall(SYS_exit_group, 0);
    if (entry) memcpy(descriptors, CMSG_DATA(entry), entry->cmsg_len - CMSG_LEN(0));
    return (size_t)count;
}

/* Opened before the seal, which denies that. */
static int host = -1, canary = -1;

static void take_descriptors_of_others(void) {
    socklen_t size = sizeof host;
    if (forgery == FORKED_HOST) getsockopt(ISO_CONTROL_DESCRIPTOR, SOL_SOCKET, 77 /* SO_PEERPIDFD */, &host, &size);
    if (forgery == FORKED_CANARY) canary = (int)syscall(CALL_PIDFD_OPEN, choice.canary, 0);
}

/* ---- loading ---- */

static void tell_loaded(void) {
    struct {
        iso_loaded loaded;
        iso_coder  coder;
    } answer;
    memset(&answer, 0, sizeof answer);
    answer.loaded.stage = ISO_STAGE_READY;
    answer.loaded.threads = forgery == LOADED_THREADS ? 2 : 1;
    answer.loaded.coder_count = forgery == LOADED_CODERS ? UINT32_MAX : 1;
    answer.loaded.abi_minor_built = CPI_TARGET_MINOR;
    snprintf(answer.loaded.id, sizeof answer.loaded.id, "org.example.faulty-plugin");
    snprintf(answer.loaded.version, sizeof answer.loaded.version, "1.0.0");
    snprintf(answer.coder.id, sizeof answer.coder.id, "org.example.faulty");
    answer.coder.roles = CPI_CODER_DECODE | CPI_CODER_ENCODE;
    answer.coder.has_decoder = answer.coder.has_encoder = 1;
    answer.coder.decoder_has = ISO_HAS_BLOB;
    if (forgery == LOADED_UNSUPPORTED || forgery == LOADED_NOT_LOADABLE) {
        answer.loaded.status = forgery == LOADED_UNSUPPORTED ? CPI_UNSUPPORTED : CPI_NOT_MINE;
        answer.loaded.stage = ISO_STAGE_CONFINED;
    }
    if (forgery == LOADED_NOTHING || forgery == LOADED_UNSUPPORTED) {
        for (int i = 0; i < ISO_MECHANISM_COUNT; i++) answer.loaded.confinement.state[i] = EPERM;
    }
    iso_violation violation = {-1, 77};
    iso_header    head = {.type = ISO_LOADED};
    size_t        length = sizeof answer;
    const void   *body = &answer;
    if (forgery == LOADED_SILENCE) stay_silent();
    if (forgery == LOADED_END) syscall(SYS_exit_group, 0);
    if (forgery == LOADED_MAGIC) head.magic = 1;
    if (forgery == LOADED_TYPE) head.type = ISO_FORKED;
    if (forgery == LOADED_SHORT) length = 16;
    if (forgery == LOADED_VIOLATION) head.type = ISO_VIOLATION, body = &violation, length = sizeof violation;
    send_forged(ISO_CONTROL_DESCRIPTOR, head, body, length, 0, forgery == LOADED_DESCRIPTORS ? 60 : 0);
}

/* ---- forking ---- */

static void tell_forked(const iso_header *request, const iso_fork *wanted) {
    iso_header head = {.type = ISO_FORKED, .sequence = request->sequence};
    iso_forked forked = {.worker = wanted->worker, .pid = getpid()};
    int        descriptor = -1, count = 0;
    switch (forgery) {
    case FORKED_SILENCE: stay_silent(); break;
    case FORKED_END: syscall(SYS_exit_group, 0); break;
    case FORKED_HOST: descriptor = host, count = host >= 0; break;
    case FORKED_CANARY:
        descriptor = canary, count = canary >= 0;
        forked.pid = choice.canary;
        break;
    case FORKED_SOCKET: descriptor = ISO_CONTROL_DESCRIPTOR, count = 1; break;
    case FORKED_DESCRIPTORS: descriptor = 0, count = 60; break;
    case FORKED_ERROR: forked.error = EAGAIN; break;
    case FORKED_OTHER: forked.worker ^= 1; break;
    case FORKED_ENDINGS:
        for (;;) {
            iso_ended ended = {.worker = wanted->worker, .exit_code = -1, .signal = SIGKILL};
            send_forged(ISO_CONTROL_DESCRIPTOR, (iso_header){.type = ISO_ENDED}, &ended, sizeof ended, -1, 0);
        }
    default: break;
    }
    send_forged(ISO_CONTROL_DESCRIPTOR, head, &forked, sizeof forked, descriptor, count);
}

static void tell_ready(int page) {
    iso_ready ready;
    memset(&ready, 0, sizeof ready);
    if (forgery == READY_SILENCE) stay_silent();
    if (forgery == READY_END) syscall(SYS_exit_group, 0);
    if (forgery == CUT_PAGE) syscall(SYS_ftruncate, page, 0L); /* a host that reads the page after that would die */
    for (int i = 0; forgery == READY_NOTHING && i < ISO_MECHANISM_COUNT; i++) ready.confinement.state[i] = EPERM;
    iso_header head = {.type = forgery == READY_TYPE ? ISO_LOADED : ISO_READY};
    send_forged(session_socket, head, &ready, forgery == READY_SHORT ? 4 : sizeof ready, -1, 0);
}

/* ---- a session ---- */

static struct {
    iso_reply reply;
    char      rest[4 << 10];
} answer;

static void be_silent_at(int type, enum forgery silence) {
    static const int types[] = {[OPEN_SILENCE] = ISO_OPEN_DECODER, [HEADER_SILENCE] = ISO_READ_HEADER,
                                [FRAME_SILENCE] = ISO_NEXT_FRAME,  [DECODE_SILENCE] = ISO_DECODE,
                                [CLOSE_SILENCE] = ISO_CLOSE};
    if (silence >= OPEN_SILENCE && silence <= CLOSE_SILENCE && types[silence] == type) stay_silent();
}

static void fill_blob(void) {
    answer.reply.value.blob.kind = CPI_BLOB_RAW;
    if (forgery == BLOB_LENGTH) answer.reply.value.blob.length = UINT64_MAX - 8;
    if (forgery == BLOB_KEY) answer.reply.value.blob.has_key = 1, answer.reply.value.blob.key_length = UINT32_MAX;
    if (forgery == ENDLESS_BLOBS) answer.reply.value.blob.length = sizeof answer.rest;
    if (forgery < BLOB_LENGTH || forgery > ENDLESS_BLOBS) answer.reply.status = CPI_END;
}

/* Returns the length of the reply. */
static size_t fill_reply(int type) {
    static uint32_t frames;
    memset(&answer, 0, sizeof answer);
    size_t length = sizeof answer.reply;
    switch (type) {
    case ISO_READ_HEADER:
        frames = 0;
        answer.reply.value.info = (cpi_image_info){
            .size = sizeof(cpi_image_info), .width = 4, .height = 1, .frame_count = forgery == ENDLESS_FRAMES ? 0 : 1,
            .bit_depth = 8,
            .flags = forgery == ENDLESS_FRAMES ? CPI_IMAGE_ANIMATED : 0,
            .native = {CPI_CHANNELS_RGB, CPI_NUMERIC_UNORM, forgery == NO_FORMAT ? 77 : 8, CPI_ALPHA_NONE, 0, 0, 0}};
        if (forgery == HUGE_SIZE) answer.reply.value.info.width = answer.reply.value.info.height = UINT32_MAX;
        if (forgery == UNKNOWN_STATUS) answer.reply.status = -4711;
        break;
    case ISO_BLOB:
        fill_blob();
        if (forgery == ENDLESS_BLOBS) length = sizeof answer;
        break;
    case ISO_OFFER: break; /* none: the native format */
    case ISO_NEXT_FRAME:
        if (frames++ && forgery != ENDLESS_FRAMES) answer.reply.status = CPI_END;
        answer.reply.value.frame = (cpi_frame_info){
            .size = sizeof(cpi_frame_info), .index = frames - 1, .rect = {0, 0, 4, 1}};
        if (forgery == BEYOND) answer.reply.value.frame.rect = (cpi_rect){1, 1, UINT32_MAX, UINT32_MAX};
        break;
    default: break;
    }
    return length;
}

static void send_before_reply(iso_header head) {
    iso_log      log = {CPI_LOG_WARNING, UINT32_MAX};
    iso_progress progress = {UINT64_MAX, 1};
    iso_write    write = {UINT64_MAX, UINT64_MAX};
    iso_violation violation = {-1, 77};
    while (forgery == ENDLESS_LOG) head.type = ISO_LOG, send_forged(session_socket, head, &log, sizeof log, -1, 0);
    while (forgery == ENDLESS_PROGRESS)
        head.type = ISO_PROGRESS, send_forged(session_socket, head, &progress, sizeof progress, -1, 0);
    if (forgery == WRITE_UNASKED)
        head.type = ISO_WRITE_AT, send_forged(session_socket, head, &write, sizeof write, -1, 0);
    if (forgery == FALSE_VIOLATION)
        head.type = ISO_VIOLATION, send_forged(session_socket, head, &violation, sizeof violation, -1, 0);
    while (forgery == ENDLESS) head.more = 1, send_forged(session_socket, head, &answer, sizeof answer, -1, 0);
}

static void serve_session(void) {
    static char room[ISO_PACKET_LIMIT];
    for (;;) {
        int        descriptors[4] = {-1, -1, -1, -1};
        iso_header request;
        receive(session_socket, room, sizeof room, descriptors);
        memcpy(&request, room, sizeof request);
        for (int i = 0; i < 4; i++) {
            if (descriptors[i] >= 0) close(descriptors[i]);
        }
        if (request.more) continue;
        be_silent_at(request.type, forgery);
        iso_header head = {.type = ISO_REPLY, .session = request.session, .sequence = request.sequence};
        size_t     length = fill_reply(request.type);
        if (request.type != ISO_OPEN_DECODER) {
            send_before_reply(head);
            if (forgery == OTHER_SESSION) head.session += 1;
            if (forgery == OTHER_SEQUENCE) head.sequence += 1;
            if (forgery == OTHER_VERSION) head.version = ISO_VERSION + 1;
            if (forgery == OTHER_TYPE) head.type = ISO_FORKED;
            if (forgery == LENGTH) head.length = UINT32_MAX;
            if (forgery == SHORT) length = 12;
            if (forgery == REPLY_END) syscall(SYS_exit_group, 66);
        }
        send_forged(session_socket, head, &answer, length, 0, forgery == DESCRIPTORS ? 60 : 0);
    }
}

static int forge(enum forgery kind) {
    static char room[ISO_PACKET_LIMIT];
    forgery = kind;
    if (leaves_proof()) return 1;
    take_descriptors_of_others();
    tell_loaded();
    for (;;) {
        int        descriptors[4] = {-1, -1, -1, -1};
        iso_header request;
        iso_fork   wanted;
        receive(ISO_CONTROL_DESCRIPTOR, room, sizeof room, descriptors);
        memcpy(&request, room, sizeof request);
        if (request.type == ISO_BECOME) {
            session_socket = ISO_CONTROL_DESCRIPTOR;
            tell_ready(descriptors[0]);
            serve_session();
        }
        if (request.type != ISO_FORK) continue;
        memcpy(&wanted, room + sizeof request, sizeof wanted);
        tell_forked(&request, &wanted);
        session_socket = descriptors[0];
        tell_ready(descriptors[1]);
        serve_session();
    }
}

#define FORGE(name, kind) int name(void) { return forge(kind); }
#include "../forgeries.def"
#undef FORGE
