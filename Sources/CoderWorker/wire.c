#define _GNU_SOURCE
#include "wire.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "worker_exit.h"

/* The body of a message in one packet, and the body of a longer message. */
static _Alignas(16) uint8_t packet[ISO_BODY_LIMIT];
static uint8_t *long_body;

_Noreturn void wire_malformed(void) { worker_exit(EXIT_PROTOCOL); }

static void check(const iso_header *header, size_t received, size_t room) {
    if (received < sizeof *header || header->magic != ISO_MAGIC || header->version != ISO_VERSION ||
        header->length > room || header->length != received - sizeof *header || header->more > 1) {
        wire_malformed();
    }
}

/* Receives one packet; descriptors only if there is room for them. */
static size_t receive_packet(iso_header *header, void *body, size_t room, int *descriptors) {
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int) * ISO_DESCRIPTOR_LIMIT)];
    } control;
    struct iovec parts[2] = {{header, sizeof *header}, {body, room}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2, .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t count;
    do {
        count = recvmsg(ISO_CONTROL_DESCRIPTOR, &message, MSG_CMSG_CLOEXEC);
    } while (count < 0 && errno == EINTR);
    if (count <= 0) {
        worker_exit(count < 0 && errno == ENOTSOCK ? EXIT_USAGE : EXIT_GONE);
    }
    unsigned found = 0;
    for (struct cmsghdr *item = CMSG_FIRSTHDR(&message); item; item = CMSG_NXTHDR(&message, item)) {
        if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        size_t bytes = item->cmsg_len - CMSG_LEN(0);
        if (!descriptors || bytes > sizeof(int) * ISO_DESCRIPTOR_LIMIT) {
            wire_malformed();
        }
        memcpy(descriptors, CMSG_DATA(item), bytes);
        found = (unsigned)(bytes / sizeof(int));
    }
    if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        wire_malformed();
    }
    check(header, (size_t)count, room);
    if (header->descriptors != found) {
        wire_malformed();
    }
    return header->length;
}

/* Collects the packets that follow the first one. */
static void receive_rest(wire_message *message, const iso_header *first, size_t length) {
    size_t capacity = 4 * sizeof packet;
    long_body = malloc(capacity);
    if (!long_body) {
        worker_exit(EXIT_RESOURCES);
    }
    memcpy(long_body, packet, length);
    iso_header header = *first;
    while (header.more) {
        if (capacity - length < sizeof packet) {
            uint8_t *larger = capacity <= ISO_MESSAGE_LIMIT ? realloc(long_body, capacity * 2) : NULL;
            if (!larger) {
                worker_exit(EXIT_RESOURCES);
            }
            capacity *= 2;
            long_body = larger;
        }
        length += receive_packet(&header, long_body + length, sizeof packet, NULL);
        if (header.type != first->type || header.session != first->session || header.sequence != first->sequence ||
            length > ISO_MESSAGE_LIMIT) {
            wire_malformed();
        }
    }
    message->body = long_body;
    message->length = length;
}

void wire_receive(wire_message *message) {
    free(long_body);
    long_body = NULL;
    iso_header header;
    for (int i = 0; i < ISO_DESCRIPTOR_LIMIT; i++) {
        message->descriptors[i] = -1;
    }
    size_t length = receive_packet(&header, packet, sizeof packet, message->descriptors);
    message->type = header.type;
    message->session = header.session;
    message->sequence = header.sequence;
    message->body = packet;
    message->length = length;
    if (header.more) {
        receive_rest(message, &header, length);
    }
}

cpi_status wire_receive_written(uint64_t session, uint32_t sequence) {
    iso_header header;
    iso_written written;
    size_t length = receive_packet(&header, &written, sizeof written, NULL);
    if (length != sizeof written || header.type != ISO_WRITTEN || header.session != session ||
        header.sequence != sequence || header.more) {
        wire_malformed();
    }
    return written.status;
}

int wire_take(wire_message *message, int index) {
    int descriptor = message->descriptors[index];
    if (descriptor < 0) {
        wire_malformed();
    }
    message->descriptors[index] = -1;
    return descriptor;
}

void wire_drop(wire_message *message) {
    for (int i = 0; i < ISO_DESCRIPTOR_LIMIT; i++) {
        if (message->descriptors[i] >= 0) {
            close(message->descriptors[i]);
            message->descriptors[i] = -1;
        }
    }
}

const void *wire_body(const wire_message *message, size_t size) {
    if (message->length < size) {
        wire_malformed();
    }
    return message->body;
}

static void send_packet(const struct msghdr *message) {
    ssize_t count;
    do {
        count = sendmsg(ISO_CONTROL_DESCRIPTOR, message, MSG_NOSIGNAL);
    } while (count < 0 && errno == EINTR);
    if (count < 0) {
        /* The plugin passed an invalid pointer, which would have crashed a host that copies the bytes itself. */
        if (errno == EFAULT) {
            worker_die(SIGSEGV);
        }
        worker_exit(EXIT_GONE);
    }
}

void wire_send(uint16_t type, uint64_t session, uint32_t sequence, const struct iovec *parts, int part_count) {
    int part = 0;
    size_t done = 0; /* of that part */
    size_t total = 0;
    for (int i = 0; i < part_count; i++) {
        total += parts[i].iov_len;
    }
    do {
        size_t length = total < ISO_BODY_LIMIT ? total : ISO_BODY_LIMIT;
        iso_header header = {.magic = ISO_MAGIC, .version = ISO_VERSION, .type = type, .session = session,
                             .sequence = sequence, .length = (uint32_t)length, .more = length < total};
        struct iovec pieces[9] = {{&header, sizeof header}};
        int count = 1;
        total -= length;
        while (length > 0) {
            size_t left = parts[part].iov_len - done;
            size_t piece = left < length ? left : length;
            if (piece > 0) {
                pieces[count++] = (struct iovec){(uint8_t *)parts[part].iov_base + done, piece};
            }
            length -= piece;
            done += piece;
            if (done == parts[part].iov_len) {
                part++;
                done = 0;
            }
        }
        struct msghdr message = {.msg_iov = pieces, .msg_iovlen = (size_t)count};
        send_packet(&message);
    } while (total > 0);
}

void wire_send_descriptor(uint16_t type, uint32_t sequence, const void *body, size_t length, int descriptor) {
    iso_header header = {.magic = ISO_MAGIC, .version = ISO_VERSION, .type = type, .sequence = sequence,
                         .length = (uint32_t)length, .descriptors = descriptor >= 0};
    struct iovec parts[2] = {{&header, sizeof header}, {(void *)body, length}};
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    if (descriptor >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *item = CMSG_FIRSTHDR(&message);
        item->cmsg_level = SOL_SOCKET;
        item->cmsg_type = SCM_RIGHTS;
        item->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(item), &descriptor, sizeof descriptor);
    }
    send_packet(&message);
}
