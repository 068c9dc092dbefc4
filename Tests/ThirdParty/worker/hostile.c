/*
 * hostile.c - a compromised worker: it sends the wrong packet that LIE selects; tests check the host's reaction.
 *
 * It claims to have loaded the plugin of ../bad/plugin.h, forks nothing and serves sessions by itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <isolation_wire.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    HONEST, OTHER_SESSION, OTHER_SEQUENCE, OTHER_MAGIC, SHORT_REPLY, ENDLESS_REPLY, DESCRIPTORS, SILENCE, ENDLESS_LOG,
    UNASKED_OUTPUT, UNKNOWN_TYPE, HUGE_SIZE, NO_FORMAT, OTHER_FRAME, UNKNOWN_STATUS, EMPTY_PACKET, ENDS, OTHER_PLUGIN,
    SHORT_LOADED, BEHIND_THE_CANVAS, ENDLESS_FRAMES, LONG_BLOB, LENGTH_LIES, RANDOM,
    EMPTY_PARTS, SLOW_PARTS, UNASKED_REST,
};

#ifndef LIE
#define LIE HONEST
#endif

static int session_socket = -1;
/* Before ISO_START no plugin code has run, so the worker is still trusted. */
static int code_has_run;

/* With RANDOM: the content of the file `seed` next to the program. */
static uint64_t seed;

static uint32_t chance(uint32_t limit) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (uint32_t)(seed >> 16) % limit;
}

static void read_seed(void) {
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 8);
    char *slash = length > 0 ? (path[length] = 0, strrchr(path, '/')) : NULL;
    FILE *file = slash ? (strcpy(slash + 1, "seed"), fopen(path, "r")) : NULL;
    unsigned long number = 1;
    if (file && fscanf(file, "%lu", &number) == 1) seed = number * UINT64_C(0x9E3779B97F4A7C15) + 1;
    if (file) fclose(file);
}

/* Changes some bytes of a packet, mostly numbers; returns the new length. */
static size_t spoil(char *packet, size_t length) {
    for (uint32_t n = chance(4); n > 0 && length > 0; n--) {
        size_t at = chance(2) ? chance(32) % length : chance((uint32_t)length);
        uint32_t how = chance(4);
        packet[at] = (char)(how == 0 ? 0 : how == 1 ? 0xff : how == 2 ? packet[at] ^ (1 << chance(8)) : (int)chance(256));
    }
    return chance(8) ? length : chance((uint32_t)length + 1);
}

static int receive(int socket, void *buffer, size_t capacity, int *descriptor) {
    struct iovec part = {buffer, capacity};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(4 * sizeof(int))];
    } control;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t count = recvmsg(socket, &message, 0);
    struct cmsghdr *entry = count > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (entry && descriptor) memcpy(descriptor, CMSG_DATA(entry), sizeof *descriptor);
    return (int)count;
}

static void send_packet(int socket, iso_header head, const void *body, size_t length, int descriptor) {
    char packet[ISO_PACKET_LIMIT];
    head.magic = ISO_MAGIC;
    head.version = ISO_VERSION;
    head.length = (uint32_t)length;
    head.descriptors = descriptor >= 0;
    if (LIE == OTHER_MAGIC && socket == session_socket && head.type == ISO_REPLY) head.magic ^= 1;
    if (LIE == LENGTH_LIES && socket == session_socket && head.type == ISO_REPLY) head.length += 8;
    memcpy(packet, &head, sizeof head);
    if (length) memcpy(packet + sizeof head, body, length);
    struct iovec part = {packet, sizeof head + length};
    if (LIE == RANDOM && code_has_run && chance(3) == 0) part.iov_len = spoil(packet, part.iov_len);
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (descriptor >= 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *entry = CMSG_FIRSTHDR(&message);
        entry->cmsg_level = SOL_SOCKET;
        entry->cmsg_type = SCM_RIGHTS;
        entry->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(entry), &descriptor, sizeof descriptor);
    }
    if (sendmsg(socket, &message, MSG_NOSIGNAL) < 0) _exit(0);
}

static void loaded(const iso_header *request) {
    struct {
        iso_loaded loaded;
        iso_coder coder;
    } answer;
    memset(&answer, 0, sizeof answer);
    answer.loaded.stage = code_has_run ? ISO_STAGE_READY : ISO_STAGE_CONFINED;
    answer.loaded.threads = 1;
    answer.loaded.coder_count = 1;
    strcpy(answer.loaded.id, LIE == OTHER_PLUGIN ? "org.example.other-plugin" : "org.example.bad-plugin");
    strcpy(answer.loaded.version, "1.0.0");
    strcpy(answer.coder.id, "org.example.bad");
    answer.coder.roles = CPI_CODER_DECODE;
    answer.coder.has_decoder = 1;
    answer.coder.decoder_has = ISO_HAS_BLOB | ISO_HAS_OFFER;
    iso_header head = {.type = ISO_LOADED, .sequence = request->sequence};
    send_packet(ISO_CONTROL_DESCRIPTOR, head, &answer, LIE == SHORT_LOADED && code_has_run ? 16 : sizeof answer, -1);
}

static void serve(void) {
    static char buffer[ISO_PACKET_LIMIT];
    static uint32_t frames;
    iso_header request;
    for (;;) {
        int count = receive(session_socket, buffer, sizeof buffer, NULL);
        if (count < (int)sizeof request) _exit(0);
        memcpy(&request, buffer, sizeof request);
        if (request.more) continue;
        if (LIE == ENDS && request.type == ISO_READ_HEADER) _exit(3);
        iso_header head = {.type = ISO_REPLY, .session = request.session, .sequence = request.sequence};
        if (LIE == OTHER_SESSION) head.session += 1;
        if (LIE == OTHER_SEQUENCE) head.sequence += 1;
        if (LIE == UNKNOWN_TYPE) head.type = 4711;
        while (LIE == SILENCE && request.type == ISO_READ_HEADER) pause();
        while (LIE == ENDLESS_LOG && request.type == ISO_READ_HEADER) {
            iso_log log = {CPI_LOG_WARNING, 0xffffffff};
            iso_header note = head;
            note.type = ISO_LOG;
            send_packet(session_socket, note, &log, sizeof log, -1);
        }
        if (LIE == UNASKED_OUTPUT) {
            iso_write write = {0, 0};
            head.type = ISO_WRITE;
            send_packet(session_socket, head, &write, sizeof write, -1);
            continue;
        }
        static struct {
            iso_reply reply;
            char rest[1024];
        } answer;
        memset(&answer, 0, sizeof answer);
        size_t length = sizeof answer.reply;
        switch (request.type) {
        case ISO_READ_HEADER:
            answer.reply.value.info = (cpi_image_info){
                .size = sizeof(cpi_image_info), .width = 2, .height = 2, .frame_count = 1, .bit_depth = 8,
                .native = {CPI_CHANNELS_RGB, CPI_NUMERIC_UNORM, 8, CPI_ALPHA_NONE, 0, 0, 0}};
            if (LIE == HUGE_SIZE) answer.reply.value.info.width = answer.reply.value.info.height = 0xffffffff;
            if (LIE == NO_FORMAT) answer.reply.value.info.native.bits = 77;
            if (LIE == ENDLESS_FRAMES) answer.reply.value.info.flags = CPI_IMAGE_ANIMATED;
            if (LIE == UNKNOWN_STATUS) answer.reply.status = -4711;
            memset(answer.reply.error.message, 'A', sizeof answer.reply.error.message); /* no NUL */
            frames = 0;
            break;
        case ISO_BLOB:
            answer.reply.status = LIE == LONG_BLOB ? CPI_OK : CPI_END;
            answer.reply.value.blob.kind = CPI_BLOB_EXIF;
            answer.reply.value.blob.length = UINT64_MAX;
            answer.reply.value.blob.has_key = 1;
            answer.reply.value.blob.key_length = 0xffffffff;
            length += 16;
            break;
        case ISO_OFFER: break; /* none: the native format */
        case ISO_NEXT_FRAME:
            if (frames++ && LIE != ENDLESS_FRAMES) answer.reply.status = CPI_END;
            answer.reply.value.frame = (cpi_frame_info){
                .size = sizeof(cpi_frame_info), .index = frames - 1, .rect = {0, 0, 2, 2}};
            if (LIE == OTHER_FRAME) answer.reply.value.frame.index = 7;
            if (LIE == BEHIND_THE_CANVAS) answer.reply.value.frame.rect = (cpi_rect){1, 1, 0xffffffff, 0xffffffff};
            break;
        default: break;
        }
        if (LIE == SHORT_REPLY) length = 12;
        if (LIE == EMPTY_PACKET) {
            if (send(session_socket, "", 1, MSG_NOSIGNAL) < 0) _exit(0);
            continue;
        }
        while (LIE == ENDLESS_REPLY) {
            head.more = 1;
            send_packet(session_socket, head, buffer, ISO_BODY_LIMIT, -1);
        }
        while (LIE == EMPTY_PARTS || LIE == SLOW_PARTS) {
            head.more = 1;
            send_packet(session_socket, head, buffer, LIE == SLOW_PARTS, -1);
            usleep(2000);
        }
        if (LIE == UNASKED_REST) answer.reply.written = 0xffffffff;
        send_packet(session_socket, head, &answer, length, LIE == DESCRIPTORS ? 0 : -1);
    }
}

/* Imitates the guardian too, which a real plugin cannot reach. */
static void seal(const iso_header *order) {
    iso_sealed sealed = {0};
    iso_header head = {.magic = ISO_MAGIC, .version = ISO_VERSION, .type = ISO_SEALED, .sequence = order->sequence,
                       .length = sizeof sealed};
    struct iovec parts[2] = {{&head, sizeof head}, {&sealed, sizeof sealed}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    if (sendmsg(ISO_GUARDIAN_DESCRIPTOR, &message, MSG_NOSIGNAL) < 0) _exit(0);
}

int main(void) {
    if (LIE == RANDOM) read_seed();
    static char buffer[ISO_PACKET_LIMIT];
    for (;;) {
        struct pollfd both[2] = {{.fd = ISO_CONTROL_DESCRIPTOR, .events = POLLIN},
                                 {.fd = ISO_GUARDIAN_DESCRIPTOR, .events = POLLIN}};
        if (poll(both, 2, -1) < 0) return 0;
        if (both[1].revents && !both[0].revents) {
            iso_header order;
            if (receive(ISO_GUARDIAN_DESCRIPTOR, buffer, sizeof buffer, NULL) < (int)sizeof order) return 0;
            memcpy(&order, buffer, sizeof order);
            if (order.type == ISO_SEAL) seal(&order);
            continue;
        }
        int descriptor = -1;
        int count = receive(ISO_CONTROL_DESCRIPTOR, buffer, sizeof buffer, &descriptor);
        iso_header request;
        if (count < (int)sizeof request) return 0;
        memcpy(&request, buffer, sizeof request);
        if (request.type == ISO_LOAD || request.type == ISO_PROBE || request.type == ISO_START) {
            code_has_run = request.type == ISO_START;
            if (!request.more) loaded(&request);
        } else if (request.type == ISO_FORK) {
            iso_fork wanted;
            memcpy(&wanted, buffer + sizeof request, sizeof wanted);
            iso_forked forked = {.worker = wanted.worker, .pid = getpid()};
            iso_header head = {.type = ISO_FORKED, .sequence = request.sequence};
            send_packet(ISO_CONTROL_DESCRIPTOR, head, &forked, sizeof forked, -1);
            session_socket = descriptor;
            iso_ready ready;
            memset(&ready, 0, sizeof ready);
            iso_header hello = {.type = ISO_READY};
            send_packet(session_socket, hello, &ready, sizeof ready, -1);
            serve();
        }
    }
}
