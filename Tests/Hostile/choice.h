/*
 * choice.h - the orders that the judge writes into a copy of the attacking plugin: attack, stage and targets.
 *
 * A constructor has no input and an empty environment, so the choice is in the plugin's data.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HOSTILE_CHOICE_H
#define HOSTILE_CHOICE_H

#include <stdint.h>

/* The stages of an attack. */
enum {
    AT_LOAD = 1,   /* in the constructor                                                        */
    AT_INIT = 2,   /* in the plugin's init function                                             */
    AT_DECODE = 4, /* for each image, before its pixels are written                             */
    AT_CLOSE = 8,  /* when the host closes the session                                          */
    LEFT = 16,     /* in a process that the constructor forks, after the seal                   */
    UNSEALED = 32, /* for each image, after the constructor prevented the second seccomp filter */
    LEAK = 64,     /* in the constructor, and again for each image                              */
    STAGE_COUNT = 7
};

#define CHOICE_MARK "coderhost: the choice of the hostile plugin"

struct choice {
    char     mark[48];
    char     attack[48];
    char     place[256];        /* a folder of mode 0700 with the file `key` of mode 0600                */
    char     abstract_name[64]; /* of the judge's socket, and of a message queue                        */
    uint64_t canary_address;    /* 16 bytes in the canary that other processes must not access          */
    int32_t  stage;
    int32_t  canary;            /* the number of a process of the same user                             */
    int32_t  tcp_port;          /* on 127.0.0.1                                                         */
    int32_t  udp_port;
    int32_t  object_key;        /* of System V objects; each judge has its own                          */
};

#define CANARY_SECRET "canary's secret"
#define CANARY_DAMAGE "canary's damage"
#define KEY_SECRET    "the key's secret"
/* The value follows it; no plugin contains both contiguously. */
#define VARIABLE_NAME "CODERHOST_CANARY"

#endif
