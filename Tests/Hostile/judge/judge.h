/*
 * judge.h - runs every attack in every mode, and checks its effects from outside.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HOSTILE_JUDGE_H
#define HOSTILE_JUDGE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "../choice.h"

/* The users for whom an attack succeeds without isolation, and the judge's measurements. */
enum {
    NOTHING = 0, EVERYONE = 1, ROOT = 2, MAYBE = 4,
    CROWD = 16,      /* counts processes and threads                         */
    MEMORY = 32,     /* adds up memory                                       */
    TIMED = 64,      /* the command has a time limit of TIME_LIMIT           */
    TERMINAL = 128,  /* the command has a terminal                           */
    PARALLEL = 256,  /* two images at one time                               */
    KILLS_HOST = 512 /* the judge kills the command while the attack runs    */
};

/* Mechanisms that a mode removes. */
enum { NAMESPACES = 1, LANDLOCK = 2, LISTENER = 4, SECCOMP = 8, LIMITS = 16, REUSE = 32 };

enum { TIME_LIMIT = 700, LONGEST = 6000, HANG = 45000, IMAGE_COUNT = 2 }; /* milliseconds */
enum { MOST_PROCESSES = 12, MOST_THREADS = 128, MOST_WORKER_MIB = 1000, MOST_HOST_MIB = 256 };

typedef struct {
    const char *name, *issue;
    int         stages, effect, walls;
    const char *text;
} attack;

typedef struct {
    const char *name;
    int         is_root;
    const char *denied;    /* for deny-calls; NULL: nothing */
    int         lacking;   /* the resulting missing mechanisms */
    const char *isolation; /* value of --isolation */
    const char *workers;   /* value of --workers */
    int         is_refused, is_control;
} mode;

extern const attack attacks[];
extern const int    attack_count;
extern const mode   modes[];
extern const int    mode_count;

typedef struct {
    const char *build;  /* the folder with coderhost and coderhost-worker */
    const char *plugin; /* the attacking plugin                           */
    const char *denier; /* the program deny-calls                         */
    int         user;   /* of modes without root                         */
} settings;
extern settings given;

/* The judge's findings; the first one of each kind. */
typedef struct {
    char text[400];
    int  count;
    int  blame; /* findings in which an error blames the wrong side                       */
    int  grave; /* findings that are never permitted: harm to the host's process          */
} evidence;
void notice(evidence *found, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- world.c: files, sockets and objects ---- */

typedef struct {
    char root[128], place[160];
    int  user;
    char before[8192];
    int  socket;
} world;
int  world_make(world *w, int user);
int  world_arm(world *w, const attack *a, int stage);
void world_inspect(world *w, evidence *found);
void world_remove(world *w);

/* ---- canary.c: a process of the same user ---- */

extern char canary_secret[16];
int  canary_of(int user);
void canary_inspect(evidence *found);

/* ---- run.c: the command ---- */

typedef struct {
    int  status; /* as of waitpid */
    int  hung;
    int  milliseconds;
    int  processes, threads, worker_mib, host_mib; /* the maximum seen */
    int  survivors;
    int  typed;                                    /* bytes that arrived at the terminal */
    char output[1 << 16];
} outcome;
void run_host(const world *w, const attack *a, const mode *m, outcome *result);

/* ---- verdict.c ---- */

void inspect_outcome(const world *w, const attack *a, const mode *m, const outcome *o, evidence *found);

#endif
