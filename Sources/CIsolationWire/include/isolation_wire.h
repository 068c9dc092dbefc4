/*
 * isolation_wire.h - what the host and its isolated process say to each other.
 *
 * Both sides are from one build, so the layout may change with every version; plugins never see it. A plugin's structs
 * travel as they are, without the pointers in them. Every packet is one iso_header and a body; a body that does not
 * fit goes on in packets of the same type, session and sequence, of which all but the last say `more`.
 *
 *   host                                         zygote (descriptor 3; one for each plugin)
 *     ISO_LOAD  [plugin]                    -->    namespaces, limits, private root, Landlock, first filter
 *                                           <--  ISO_LOADED at ISO_STAGE_CONFINED; no code of the plugin has run
 *     ISO_START                             -->    dlopen, entry, init
 *                                           <--  ISO_LOADED; every failure from here on is the plugin's
 *     ISO_FORK  [session socket, shared]    -->    fork; the child seals itself with the second filter
 *                                           <--  ISO_FORKED [pidfd]
 *                                           <--  ISO_ENDED, whenever a child has ended
 *     ISO_BECOME [shared]                   -->    no fork: the process itself goes on as worker on descriptor 3
 *                                                  (for a plugin that has started threads)
 *     ISO_PROBE                             -->    everything but the plugin, both filters; for `doctor`
 *                                           <--  ISO_LOADED
 *   host                                         guardian (descriptor 4; never runs anything of a plugin)
 *     ISO_SEAL                              -->    refuses from now on what only loading needs; limits memory
 *                                           <--  ISO_SEALED
 *     ISO_PERMIT                            -->    lets the zygote fork once more; not answered
 *                                           <--  ISO_VIOLATION: behind that seal; every process ends
 *   host                                         worker (session socket; one session at a time)
 *                                           <--  ISO_READY, once, when it is sealed
 *     a request                             -->
 *                                           <--  ISO_LOG, ISO_PROGRESS: any number, not answered
 *                                           <--  ISO_WRITE, ISO_WRITE_AT: answered by ISO_WRITTEN
 *                                           <--  ISO_VIOLATION: a forbidden system call; the process ends
 *                                           <--  ISO_REPLY, with the last bytes of output
 *
 * The end of a socket is the end of the process behind it: a worker whose host is gone exits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ISOLATION_WIRE_H
#define ISOLATION_WIRE_H

#include <coder_plugin.h>

#define ISO_MAGIC ((uint32_t)0x49495043) /* "CPII" */
#define ISO_VERSION ((uint16_t)1)
#define ISO_CONTROL_DESCRIPTOR 3
#define ISO_GUARDIAN_DESCRIPTOR 4       /* without a socket there nobody can order the seal                  */
#define ISO_GROUP_DESCRIPTOR 5          /* cgroup.procs of the group to enter first, where there is one              */
#define ISO_PACKET_LIMIT 61440          /* header and body of one packet                                     */
#define ISO_BODY_LIMIT (ISO_PACKET_LIMIT - 32)
#define ISO_MESSAGE_LIMIT (64 << 20)    /* bodies of all packets of one message; the host ends a worker that sends more */
#define ISO_DESCRIPTOR_LIMIT 4          /* descriptors in one packet; they come with the first of a message  */

typedef struct iso_header {
    uint32_t magic;
    uint16_t version;
    uint16_t type;     /* ISO_...                                                                 */
    uint64_t session;  /* chosen by the host; repeated in every packet about it; 0 = the zygote's */
    uint32_t sequence; /* of the request; repeated in everything that is said while it is served  */
    uint32_t length;   /* bytes of the body in this packet                                        */
    uint32_t more;     /* 1: the message goes on in the next packet                               */
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
#define ISO_REWRITE      92 /* one call without a session: opens, works and closes */
#define ISO_TRANSCODE    93
#define ISO_CLOSE        96 /* ends the session in the plugin; the worker is ready for another one */

/* What holds a process back; the index into iso_confinement.state. */
enum {
    ISO_NO_NEW_PRIVILEGES,
    ISO_LIMITS,
    ISO_USER_NAMESPACE,
    ISO_PID_NAMESPACE,
    ISO_NETWORK_NAMESPACE,
    ISO_IPC_NAMESPACE,
    ISO_MOUNT_NAMESPACE,
    ISO_PRIVATE_ROOT,     /* a file system with nothing but the libraries that the plugin needs */
    ISO_LANDLOCK,         /* no file but the libraries, and those only to read      */
    ISO_LANDLOCK_NETWORK, /* no TCP; since Landlock 4                               */
    ISO_LANDLOCK_SCOPE,   /* no signal and no abstract socket outside; since 6      */
    ISO_SECCOMP_LOAD,     /* what loading needs, and nothing else                   */
    ISO_SECCOMP_SEAL,     /* the little that is left before the first input byte; what a worker says of it counts only
                             where the guardian, which no plugin can reach, has answered ISO_IN_FORCE as well */
    ISO_MECHANISM_COUNT
};

#define ISO_IN_FORCE 0
#define ISO_NOT_YET (-1) /* comes later, or was not asked for */

/* For each mechanism ISO_IN_FORCE, ISO_NOT_YET, or the errno that it failed with. */
typedef struct iso_confinement {
    int32_t state[ISO_MECHANISM_COUNT];
    int32_t landlock_version; /* 0: none */
} iso_confinement;

#define ISO_FLAG_RECORD ((uint32_t)1) /* record what is refused quietly in iso_shared.refused, for the conformance kit */

/*
 * Behind it in the body: the folders and files that loader and plugin may read until the seal, each ended by a NUL.
 * Descriptor: the plugin's sealed copy, unless `path` names the file.
 */
typedef struct iso_load {
    uint32_t flags;           /* ISO_FLAG_...                                                              */
    uint32_t host_minor;      /* for cpi_host                                                              */
    uint64_t data_bytes;      /* RLIMIT_DATA; 0 = none                                                     */
    uint32_t load_seconds;    /* processor time that loading may take, RLIMIT_CPU; 0 = none                */
    uint32_t max_descriptors; /* RLIMIT_NOFILE                                                             */
    uint32_t idle_seconds;    /* after which a zygote without workers, or a worker without a session, ends; 0 = never */
    uint32_t threads;         /* threads that the plugin may have at one time beside the first; 0 = none           */
    uint32_t pool;            /* threads of the host's that a worker may have beside those                          */
    uint32_t reserved;
    uint64_t address_bytes;   /* RLIMIT_AS while the plugin is loaded; 0 = none                            */
    char     host_version[32];
    char     name[64];        /* of the file, for messages                                                 */
    char     path[4096];      /* empty: the descriptor                                                     */
} iso_load;

/* What a plugin reports of itself; behind it `coder_count` iso_coder. The host compares it with the manifest. */
typedef struct iso_loaded {
    cpi_status status;        /* CPI_OK, or what the entry function or init answered; CPI_NOT_MINE: not loadable */
    uint32_t   stage;         /* ISO_STAGE_..., how far it came                                               */
    uint32_t   threads;       /* threads of the process now: above 1 it cannot be forked. 0: not known         */
    uint32_t   abi_minor_built;
    uint32_t   abi_minor_needed;
    uint32_t   concurrency;
    uint32_t   reserved;      /* cpi_plugin.reserved                                                         */
    uint32_t   knows_all;     /* 1: it answers an extension id that does not exist                           */
    uint32_t   coder_count;
    char       id[128];
    char       version[64];
    cpi_error  error;         /* message: also the loader's                                                  */
    iso_confinement confinement;
} iso_loaded;

#define ISO_STAGE_CONFINED 1 /* the process is confined; nothing of the plugin has run */
#define ISO_STAGE_MAPPED 2   /* dlopen came back                                        */
#define ISO_STAGE_ENTERED 3  /* the entry function came back                            */
#define ISO_STAGE_READY 4    /* init came back                                          */

typedef struct iso_coder {
    char     id[128];
    uint32_t roles;
    uint32_t has_decoder; /* 1: a table with all that is needed */
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
    uint64_t address_bytes; /* only where the guardian does not hold the seal (see iso_seal)      */
    uint32_t cpu_seconds;   /* RLIMIT_CPU; 0 = none                                               */
    uint32_t threads;       /* 1: it may start threads                                            */
    uint32_t pool;          /* threads that the worker starts for cpi_parallel_api                */
    uint32_t reserved;
} iso_fork;

/* Descriptor: a pidfd, where the kernel has them. */
typedef struct iso_forked {
    uint64_t worker;
    int32_t  error; /* errno; 0 = it runs */
    int32_t  pid;   /* as the zygote sees it */
} iso_forked;

#define ISO_EXIT_RESOURCES 66 /* the exit code of a worker that finds no memory, no process or no shared page */

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

/* After ISO_LOADED and before the first fork; again before a fork with another limit of memory. There is no way back. */
typedef struct iso_seal {
    uint64_t data_bytes;    /* RLIMIT_DATA of the zygote, and so of what it forks from now on; 0 = none */
    uint64_t address_bytes; /* RLIMIT_AS, likewise; it bounds page tables, which RLIMIT_DATA does not count */
    uint32_t limits;        /* 1: both limits are to be set                                             */
    uint32_t reserved;
} iso_seal;

typedef struct iso_sealed {
    int32_t seal;   /* ISO_IN_FORCE, or the errno of why it is not; a worker then limits its memory itself */
    int32_t limits; /* the errno that setting the limits failed with, or 0                                 */
    int32_t zygote; /* the zygote's process number, as the host sees it                                    */
} iso_sealed;

/* One page in memory that both map. The host writes the first part, the worker the second. */
typedef struct iso_shared {
    uint32_t cancelled; /* atomic; poll answers CPI_CANCELLED         */
    uint32_t progress;  /* atomic; 1: ISO_PROGRESS is wanted          */
    uint64_t deadline;  /* atomic; monotonic nanoseconds, 0 = none    */
    uint32_t phase;     /* atomic; the request being served, 0 = none */
    uint32_t refused_count;
    uint32_t refused[64]; /* with ISO_FLAG_RECORD: numbers of system calls that were refused quietly */
} iso_shared;

/* In front of the body of every request. */
typedef struct iso_input {
    uint64_t available; /* bytes of the source that are there */
    uint32_t complete;
    uint32_t reserved;
} iso_input;

/* Behind it: options, see iso_option. Descriptor: the input, for reading only. */
typedef struct iso_open {
    iso_input  input;
    uint32_t   coder;       /* index into ISO_LOADED                                                         */
    uint32_t   thread_hint;
    uint32_t   option_count;
    uint32_t   source_kind; /* CPI_SOURCE_MEMORY, _GROWING: mapped (`capacity` bytes); _READER: read in place; 0: none */
    uint64_t   capacity;
    uint32_t   reads_header; /* 1: once a decoder is open, it reads the header; the reply is that to ISO_READ_HEADER */
    uint32_t   reserved;
    char       ending[16];   /* cpi_source.ending; empty: not known */
    cpi_limits limits;
} iso_open;

/* Followed by the key and the bytes, each with a NUL behind it that is not counted. */
typedef struct iso_option {
    uint32_t type;       /* CPI_OPTION_... */
    uint32_t key_length;
    int64_t  integer;
    double   real;
    uint64_t length;     /* of bytes or string */
} iso_option;

/* Pixels in memory that both map. Descriptor: that memory. */
typedef struct iso_surface {
    uint64_t         id;         /* the same memory has the same number for as long as the worker lives */
    uint64_t         map_bytes;  /* of the whole memory          */
    uint64_t         offset;     /* where the surface begins     */
    uint64_t         byte_count; /* that may be touched from there */
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
 * One piece of metadata, in both directions. Behind the struct that holds it stand, where `follows` is 1:
 *
 *     has_key:  `key_length` bytes of the key, then one NUL, which `key_length` does not count
 *     always:   `length` bytes of the metadata
 *
 * and nothing else. The receiver refuses a message of any other length.
 */
typedef struct iso_blob {
    uint32_t kind;       /* CPI_BLOB_...                                                               */
    uint32_t has_key;    /* 1: there is a key, which may be empty                                      */
    uint32_t key_length; /* at most iso_blob_query.most_key + 1, which stands for every longer key     */
    uint32_t follows;    /* 1: key and bytes follow; 0: one of them is longer than the host asked for  */
    uint64_t length;     /* of the metadata, whether it follows or not                                 */
} iso_blob;

typedef struct iso_blob_query { /* ISO_BLOB */
    iso_input input;
    uint32_t  index;
    uint32_t  most_key; /* bytes of the longest key that the host takes                 */
    uint64_t  most;     /* bytes of the longest metadata that the host takes            */
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

typedef struct iso_blob_request { /* ISO_ADD_BLOB; key and bytes behind it, see iso_blob */
    iso_input input;
    iso_blob  blob;
} iso_blob_request;

typedef struct iso_frame_request { /* ISO_ADD_FRAME, ISO_BEGIN_ROWS (no surface), ISO_ADD_THUMBNAIL, ISO_ADD_ROWS (no frame) */
    iso_input      input;
    iso_surface    surface;
    cpi_frame_info frame;
} iso_frame_request;

/*
 * ISO_REWRITE, ISO_TRANSCODE; begins with an iso_open, of which `reads_header` is 0. Behind it the options, then as many
 * iso_blob as `blob_count` says, each with its key and bytes. Descriptor: the input.
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
    cpi_image_info info;
} iso_item;

#define ISO_FORMAT_LIMIT 32 /* the host asks for no more */
typedef struct iso_formats {
    uint32_t         count, reserved;
    cpi_format_offer items[ISO_FORMAT_LIMIT];
} iso_formats;

/* The beginning of every ISO_REPLY. */
typedef struct iso_reply {
    cpi_status status;
    uint32_t   absent; /* 1: the plugin does not have the function that was asked for; `status` means nothing then */
    uint32_t   opened; /* 1: ISO_OPEN_DECODER has opened a decoder, and the rest is about its header               */
    uint32_t   written; /* bytes for the end of the output, which stand at the end of the message                  */
    cpi_error  error;
    union {
        cpi_image_info   info;   /* ISO_READ_HEADER                                             */
        iso_item         item;   /* ISO_ITEM_DESCRIBE                                           */
        cpi_rewrite_outcome outcome; /* ISO_REWRITE                                             */
        iso_formats      formats; /* ISO_OFFER, ISO_ACCEPT: all of them in one reply            */
        cpi_frame_info   frame;  /* ISO_NEXT_FRAME                                              */
        cpi_rect         dirty;  /* ISO_DECODE answered CPI_PARTIAL; all of it where not known  */
        uint32_t         number; /* ISO_SEEK_FRAME, ISO_ITEM_COUNT, ISO_BEGIN_ROWS              */
        uint32_t         size[2]; /* ISO_SCALED_SIZE                                           */
        iso_blob blob;           /* ISO_BLOB; key and bytes behind the reply                    */
    } value;
} iso_reply;

#define ISO_WARNING_LIMIT 2048 /* bytes of one warning; both sides cut a longer text here, whatever its encoding */

typedef struct iso_log {
    uint32_t severity;
    uint32_t length; /* of the text behind it, at most ISO_WARNING_LIMIT */
} iso_log;

typedef struct iso_progress {
    uint64_t done;
    uint64_t total;
} iso_progress;

typedef struct iso_write { /* the bytes behind it */
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
