/*
 * isolation_wire.h - the protocol between the host and its isolated processes.
 *
 * Both sides come from one build, so the layout may change with every version; plugins never see it. A plugin's
 * structs are sent unchanged, without the pointers in them. Every packet is one iso_header and a body. A body that
 * does not fit continues in packets of the same type, session and sequence; all but the last have `more` set.
 *
 *   host                                         zygote (descriptor 3; one for each plugin)
 *     ISO_LOAD  [plugin]                    -->    namespaces, limits, private root, Landlock, first filter
 *                                           <--  ISO_LOADED at ISO_STAGE_CONFINED; no code of the plugin has run
 *     ISO_START                             -->    dlopen, entry, init
 *                                           <--  ISO_LOADED; every failure from here on is the plugin's
 *     ISO_FORK  [session socket, shared]    -->    fork; the child seals itself with the second filter
 *                                           <--  ISO_FORKED [pidfd]
 *                                           <--  ISO_ENDED, when a child has ended
 *     ISO_BECOME [shared]                   -->    no fork: the process itself goes on as worker on descriptor 3
 *                                                  (for a plugin that has started threads)
 *     ISO_PROBE                             -->    everything but the plugin, both filters; for `doctor`
 *                                           <--  ISO_LOADED
 *   host                                         guardian (descriptor 4; never runs plugin code)
 *     ISO_SEAL                              -->    denies from now on calls that only loading needs; limits memory
 *                                           <--  ISO_SEALED
 *     ISO_PERMIT                            -->    lets the zygote fork once more; not answered
 *                                           <--  ISO_VIOLATION: after that seal; every process ends
 *   host                                         worker (session socket; one session at a time)
 *                                           <--  ISO_READY, once, when it is sealed
 *     a request                             -->
 *                                           <--  ISO_LOG, ISO_PROGRESS: any number, not answered
 *                                           <--  ISO_WRITE, ISO_WRITE_AT: answered by ISO_WRITTEN
 *                                           <--  ISO_VIOLATION: a forbidden system call; the process ends
 *                                           <--  ISO_REPLY, with the last bytes of output
 *
 * A closed socket means that the peer process has ended: a worker whose host has ended exits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ISOLATION_WIRE_H
#define ISOLATION_WIRE_H

#include <coder_plugin.h>

#define ISO_MAGIC ((uint32_t)0x49495043) /* "CPII" */
#define ISO_VERSION ((uint16_t)1)
#define ISO_CONTROL_DESCRIPTOR 3
#define ISO_GUARDIAN_DESCRIPTOR 4       /* without a socket there, no process can request the seal          */
#define ISO_GROUP_DESCRIPTOR 5          /* cgroup.procs of the group to enter first, if any */
#define ISO_PACKET_LIMIT 61440          /* header and body of one packet                                     */
#define ISO_BODY_LIMIT (ISO_PACKET_LIMIT - 32)
#define ISO_MESSAGE_LIMIT (64 << 20)    /* bodies of all packets of one message; the host ends a worker that sends more */
#define ISO_DESCRIPTOR_LIMIT 4          /* descriptors in one packet; they come with the first of a message  */

typedef struct iso_header {
    uint32_t magic;
    uint16_t version;
    uint16_t type;     /* ISO_...                                                                 */
    uint64_t session;  /* chosen by the host; repeated in every packet about it; 0 = the zygote's */
    uint32_t sequence; /* of the request; repeated in every packet while it is served           */
    uint32_t length;   /* bytes of the body in this packet                                        */
    uint32_t more;     /* 1: the message continues in the next packet                            */
    uint32_t descriptors;
} iso_header;

/* Control, host to zygote. */
#define ISO_LOAD   1
#define ISO_FORK   2
#define ISO_BECOME 3
#define ISO_PROBE  4
#define ISO_START  6
/* Host to guardian. */
#define ISO_SEAL   5
#define ISO_PERMIT 7
/* Control, zygote to host. */
#define ISO_LOADED 16
#define ISO_FORKED 17
#define ISO_ENDED  18
/* Guardian to host. */
#define ISO_SEALED 19
/* Worker to host. */
#define ISO_READY     32
#define ISO_REPLY     33
#define ISO_LOG       34
#define ISO_PROGRESS  35
#define ISO_WRITE     36
#define ISO_WRITE_AT  37
#define ISO_VIOLATION 38
/* Host to worker: answers and requests. */
#define ISO_WRITTEN 48
#define ISO_OPEN_DECODER 64
#define ISO_READ_HEADER  65
#define ISO_BLOB         66
#define ISO_OFFER        67
#define ISO_SCALED_SIZE 68
#define ISO_NEXT_FRAME   69
#define ISO_SEEK_FRAME   70
#define ISO_DECODE       71
#define ISO_ITEM_DESCRIBE 72
#define ISO_ITEM_SELECT  73
#define ISO_ITEM_COUNT   74
#define ISO_OPEN_ENCODER 80
#define ISO_ACCEPT       81
#define ISO_BEGIN        82
#define ISO_ADD_BLOB     83
#define ISO_ADD_THUMBNAIL 84
#define ISO_ADD_FRAME    85
#define ISO_FINISH       86
#define ISO_BEGIN_ROWS   87
#define ISO_ADD_ROWS     88
#define ISO_NEXT_ITEM    89
#define ISO_REWRITE      92 /* one call without a session */
#define ISO_TRANSCODE    93
#define ISO_CLOSE        96 /* ends the session in the plugin; the worker is ready for another one */

/* The confinement mechanisms; the index into iso_confinement.state. */
enum {
    ISO_NO_NEW_PRIVILEGES,
    ISO_LIMITS,
    ISO_USER_NAMESPACE,
    ISO_PID_NAMESPACE,
    ISO_NETWORK_NAMESPACE,
    ISO_IPC_NAMESPACE,
    ISO_MOUNT_NAMESPACE,
    ISO_PRIVATE_ROOT,     /* a file system with only the libraries that the plugin needs */
    ISO_LANDLOCK,         /* only the libraries, read-only                          */
    ISO_LANDLOCK_NETWORK, /* no TCP; since Landlock 4                               */
    ISO_LANDLOCK_SCOPE,   /* no signal and no abstract socket outside; since 6      */
    ISO_SECCOMP_LOAD,     /* only the calls that loading needs                      */
    ISO_SECCOMP_SEAL,     /* the few calls left before the first input byte; a worker's report counts only if the
                             guardian, which no plugin can reach, has answered ISO_IN_FORCE as well */
    ISO_MECHANISM_COUNT
};

#define ISO_IN_FORCE 0
#define ISO_NOT_YET (-1) /* comes later, or was not requested */

/* For each mechanism ISO_IN_FORCE, ISO_NOT_YET, or the errno that it failed with. */
typedef struct iso_confinement {
    int32_t state[ISO_MECHANISM_COUNT];
    int32_t landlock_version; /* 0: none */
} iso_confinement;

#define ISO_FLAG_RECORD ((uint32_t)1) /* record silently denied calls in iso_shared.refused, for the conformance kit */

/*
 * The body continues with the folders and files that loader and plugin may read until the seal, NUL-terminated.
 * Descriptor: the plugin's sealed copy, unless `path` names the file.
 */
typedef struct iso_load {
    uint32_t flags;           /* ISO_FLAG_...                                                              */
    uint32_t host_minor;      /* for cpi_host                                                              */
    uint64_t data_bytes;      /* RLIMIT_DATA; 0 = none                                                     */
    uint32_t load_seconds;    /* processor time limit for loading, RLIMIT_CPU; 0 = none                    */
    uint32_t max_descriptors; /* RLIMIT_NOFILE                                                             */
    uint32_t idle_seconds;    /* after which a zygote without workers, or a worker without a session, ends; 0 = never */
    uint32_t threads;         /* threads that the plugin may have besides the first; 0 = none           */
    uint32_t pool;            /* host threads that a worker may have in addition                       */
    uint32_t reserved;
    uint64_t address_bytes;   /* RLIMIT_AS while the plugin is loaded; 0 = none                            */
    char     host_version[32];
    char     name[64];        /* of the file, for messages                                                 */
    char     path[4096];      /* empty: the descriptor                                                     */
} iso_load;

/* A plugin's description of itself, followed by `coder_count` iso_coder. The host compares it with the manifest. */
typedef struct iso_loaded {
    cpi_status status;        /* CPI_OK, or the result of the entry function or init; CPI_NOT_MINE: not loadable */
    uint32_t   stage;         /* ISO_STAGE_..., the last stage reached                                        */
    uint32_t   threads;       /* current threads of the process; above 1 it cannot be forked. 0: unknown         */
    uint32_t   abi_minor_built;
    uint32_t   abi_minor_needed;
    uint32_t   concurrency;
    uint32_t   reserved;      /* cpi_plugin.reserved                                                         */
    uint32_t   knows_all;     /* 1: it returns a table for an unknown extension id                           */
    uint32_t   coder_count;
    char       id[128];
    char       version[64];
    cpi_error  error;         /* message: also the loader's                                                  */
    iso_confinement confinement;
} iso_loaded;

#define ISO_STAGE_CONFINED 1 /* the process is confined; no plugin code has run */
#define ISO_STAGE_MAPPED 2   /* dlopen returned             */
#define ISO_STAGE_ENTERED 3  /* the entry function returned */
#define ISO_STAGE_READY 4    /* init returned               */

typedef struct iso_coder {
    char     id[128];
    uint32_t roles;
    uint32_t has_decoder; /* 1: a complete table */
    uint32_t has_encoder;
    uint32_t decoder_has; /* ISO_HAS_... */
    uint32_t encoder_has;
    uint32_t reserved;    /* 1: a reserved word of one of its tables is not zero */
} iso_coder;

#define ISO_HAS_BLOB          0x01 /* decoder: blob; encoder: add_blob */
#define ISO_HAS_OFFER         0x02
#define ISO_HAS_SCALED_SIZE  0x04
#define ISO_HAS_SEEK          0x08
#define ISO_HAS_DIRTY         0x10

/* Descriptors: the session socket, the shared page. */
typedef struct iso_fork {
    uint64_t worker;        /* repeated in ISO_FORKED and ISO_ENDED                               */
    uint64_t data_bytes;    /* RLIMIT_DATA and RLIMIT_AS; 0 = none. The worker sets them itself   */
    uint64_t address_bytes; /* only if the guardian does not hold the seal (see iso_seal)         */
    uint32_t cpu_seconds;   /* RLIMIT_CPU; 0 = none                                               */
    uint32_t threads;       /* 1: it may start threads                                            */
    uint32_t pool;          /* threads that the worker starts for cpi_parallel_api                */
    uint32_t reserved;
} iso_fork;

/* Descriptor: a pidfd, if the kernel supports it. */
typedef struct iso_forked {
    uint64_t worker;
    int32_t  error; /* errno; 0 = it runs */
    int32_t  pid;   /* as the zygote sees it */
} iso_forked;

#define ISO_EXIT_RESOURCES 66 /* the exit code of a worker that cannot get memory, a process or its shared page */

typedef struct iso_ended {
    uint64_t worker;
    int32_t  exit_code; /* -1: by a signal */
    int32_t  signal;    /* 0: by itself    */
    uint64_t cpu_microseconds;
    uint64_t peak_bytes;
} iso_ended;

typedef struct iso_ready {
    iso_confinement confinement;
} iso_ready;

/* After ISO_LOADED and before the first fork; again before a fork with another memory limit. Irreversible. */
typedef struct iso_seal {
    uint64_t data_bytes;    /* RLIMIT_DATA of the zygote, inherited by later forks; 0 = none */
    uint64_t address_bytes; /* RLIMIT_AS, likewise; it bounds page tables, which RLIMIT_DATA does not count */
    uint32_t limits;        /* 1: set both limits                                                          */
    uint32_t reserved;
} iso_seal;

typedef struct iso_sealed {
    int32_t seal;   /* ISO_IN_FORCE, or an errno; on failure a worker limits its memory itself */
    int32_t limits; /* the errno that setting the limits failed with, or 0                                 */
    int32_t zygote; /* the zygote's process number, as the host sees it                                    */
} iso_sealed;

/* One page in memory that both map. The host writes the first part, the worker the second. */
typedef struct iso_shared {
    uint32_t cancelled; /* atomic; poll answers CPI_CANCELLED         */
    uint32_t progress;  /* atomic; 1: send ISO_PROGRESS               */
    uint64_t deadline;  /* atomic; monotonic nanoseconds, 0 = none    */
    uint32_t phase;     /* atomic; the request being served, 0 = none */
    uint32_t refused_count;
    uint32_t refused[64]; /* with ISO_FLAG_RECORD: numbers of silently denied system calls */
} iso_shared;

/* The start of every request's body. */
typedef struct iso_input {
    uint64_t available; /* bytes of the source that have arrived */
    uint32_t complete;
    uint32_t reserved;
} iso_input;

/* Followed by options, see iso_option. Descriptor: the input, read-only. */
typedef struct iso_open {
    iso_input  input;
    uint32_t   coder;       /* index into ISO_LOADED                                                         */
    uint32_t   thread_hint;
    uint32_t   option_count;
    uint32_t   source_kind; /* CPI_SOURCE_MEMORY, _GROWING: mapped (`capacity` bytes); _READER: read in place; 0: none */
    uint64_t   capacity;
    uint32_t   reads_header; /* 1: after opening, reads the header; the reply is that to ISO_READ_HEADER */
    uint32_t   reserved;
    char       ending[16];   /* cpi_source.ending; empty: unknown */
    cpi_limits limits;
} iso_open;

/* Followed by the key and the bytes, each with a NUL that is not counted. */
typedef struct iso_option {
    uint32_t type;       /* CPI_OPTION_... */
    uint32_t key_length;
    int64_t  integer;
    double   real;
    uint64_t length;     /* of bytes or string */
} iso_option;

/* Pixels in memory that both map. Descriptor: that memory. */
typedef struct iso_surface {
    uint64_t         id;         /* stable for the same memory during the worker's lifetime */
    uint64_t         map_bytes;  /* of the whole memory          */
    uint64_t         offset;     /* where the surface begins     */
    uint64_t         byte_count; /* accessible from there */
    uint64_t         stride;
    uint32_t         width;
    uint32_t         height;
    cpi_pixel_format format;
} iso_surface;

typedef struct iso_index_request { /* ISO_SEEK_FRAME, ISO_ITEM_DESCRIBE, ISO_ITEM_SELECT */
    iso_input input;
    uint32_t  index;
    uint32_t  reserved;
} iso_index_request;

/*
 * One piece of metadata, in both directions. If `follows` is 1, the enclosing struct is followed by:
 *
 *     has_key:  `key_length` bytes of the key, then one NUL, which `key_length` does not count
 *     always:   `length` bytes of the metadata
 *
 * and nothing else. The receiver refuses a message of any other length.
 */
typedef struct iso_blob {
    uint32_t kind;       /* CPI_BLOB_...                                                               */
    uint32_t has_key;    /* 1: there is a key, which may be empty                                      */
    uint32_t key_length; /* at most iso_blob_query.most_key + 1, which means any longer key           */
    uint32_t follows;    /* 1: key and bytes follow; 0: one of them exceeds the host's limits         */
    uint64_t length;     /* of the metadata, even if it does not follow                               */
} iso_blob;

typedef struct iso_blob_query { /* ISO_BLOB */
    iso_input input;
    uint32_t  index;
    uint32_t  most_key; /* bytes of the longest key that the host accepts               */
    uint64_t  most;     /* bytes of the longest metadata that the host accepts          */
} iso_blob_query;

typedef struct iso_size_request { /* ISO_SCALED_SIZE */
    iso_input input;
    uint32_t  width;
    uint32_t  height;
} iso_size_request;

typedef struct iso_decode_request { /* ISO_DECODE */
    iso_input   input;
    iso_surface surface;
    uint32_t    flags;
    uint32_t    reserved;
    cpi_rect    region;
    uint32_t    scaled_width;
    uint32_t    scaled_height;
} iso_decode_request;

typedef struct iso_accept_request {
    iso_input      input;
    cpi_image_info info;
} iso_accept_request;

typedef struct iso_begin_request {
    iso_input      input;
    uint32_t       sink_flags;
    uint32_t       reserved;
    cpi_image_info info;
} iso_begin_request;

typedef struct iso_blob_request { /* ISO_ADD_BLOB; followed by key and bytes, see iso_blob */
    iso_input input;
    iso_blob  blob;
} iso_blob_request;

typedef struct iso_frame_request { /* ISO_ADD_FRAME, ISO_BEGIN_ROWS (no surface), ISO_ADD_THUMBNAIL, ISO_ADD_ROWS (no frame) */
    iso_input      input;
    iso_surface    surface;
    cpi_frame_info frame;
} iso_frame_request;

/*
 * ISO_REWRITE, ISO_TRANSCODE; begins with an iso_open whose `reads_header` is 0. Followed by the options, then by
 * `blob_count` iso_blob, each with its key and bytes. Descriptor: the input.
 */
typedef struct iso_rewrite_request {
    iso_open open;
    uint32_t sink_flags;
    uint32_t flags;       /* CPI_REWRITE_...                        */
    uint32_t remove;
    uint32_t orientation;
    cpi_rect crop;
    uint32_t blob_count;
    uint32_t direction;   /* ISO_TRANSCODE: CPI_TRANSCODE_...       */
    uint32_t option_bytes;
    uint32_t reserved;
    char     format[64];  /* ISO_TRANSCODE                          */
} iso_rewrite_request;

#define ISO_TEXT_LIMIT 256 /* bytes of an item's name or kind with the NUL; longer ones are cut */
typedef struct iso_item {
    uint32_t       flags, role, of, group, reserved; /* those of cpi_item */
    uint32_t       has_name, has_kind;
    char           name[ISO_TEXT_LIMIT];
    char           kind[ISO_TEXT_LIMIT];
    cpi_image_info info; /* not in ISO_NEXT_ITEM */
} iso_item;

typedef struct iso_item_request { iso_input input; iso_item item; } iso_item_request; /* ISO_NEXT_ITEM */

#define ISO_FORMAT_LIMIT 32 /* the most formats that the host requests */
typedef struct iso_formats {
    uint32_t         count, reserved;
    cpi_format_offer items[ISO_FORMAT_LIMIT];
} iso_formats;

/* The beginning of every ISO_REPLY. */
typedef struct iso_reply {
    cpi_status status;
    uint32_t   absent; /* 1: the plugin lacks the requested function; `status` is then undefined */
    uint32_t   opened; /* 1: ISO_OPEN_DECODER has opened a decoder, and the rest is about its header               */
    uint32_t   written; /* bytes to append to the output; they are at the end of the message                    */
    cpi_error  error;
    union {
        cpi_image_info   info;   /* ISO_READ_HEADER                                             */
        iso_item         item;   /* ISO_ITEM_DESCRIBE                                           */
        cpi_rewrite_outcome outcome; /* ISO_REWRITE                                             */
        iso_formats      formats; /* ISO_OFFER, ISO_ACCEPT: all of them in one reply            */
        cpi_frame_info   frame;  /* ISO_NEXT_FRAME                                              */
        cpi_rect         dirty;  /* ISO_DECODE answered CPI_PARTIAL; the whole if unknown */
        uint32_t         number; /* ISO_SEEK_FRAME, ISO_ITEM_COUNT, ISO_BEGIN_ROWS              */
        uint32_t         size[2]; /* ISO_SCALED_SIZE                                           */
        iso_blob blob;           /* ISO_BLOB; the reply is followed by key and bytes      */
    } value;
} iso_reply;

#define ISO_WARNING_LIMIT 2048 /* bytes of one warning; both sides cut longer texts here, in any encoding */

typedef struct iso_log {
    uint32_t severity;
    uint32_t length; /* of the text that follows, at most ISO_WARNING_LIMIT */
} iso_log;

typedef struct iso_progress { uint64_t done, total; } iso_progress;

typedef struct iso_write { /* followed by the bytes */
    uint64_t offset; /* ISO_WRITE_AT */
    uint64_t length;
} iso_write;

typedef struct iso_written {
    cpi_status status;
    uint32_t   reserved;
} iso_written;

typedef struct iso_violation {
    int32_t  system_call;
    uint32_t phase; /* the request being served; ISO_LOAD while the plugin is loaded */
} iso_violation;

#endif
