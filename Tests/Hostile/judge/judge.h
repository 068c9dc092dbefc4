/*
 * judge.h - runs every attack in every mode, and looks from outside at what it reached.
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

/* Who reaches the effect of an attack where nothing holds it, and what the judge measures. */
enum {
    NOTHING = 0, EVERYONE = 1, ROOT = 2, MAYBE = 4,
    CROWD = 16,      /* counts processes and threads                         */
    MEMORY = 32,     /* adds up memory                                       */
    TIMED = 64,      /* the command has a time limit of TIME_LIMIT           */
    TERMINAL = 128,  /* the command has a terminal                           */
    PARALLEL = 256,  /* two images at one time                               */
    KILLS_HOST = 512 /* the judge kills the command while the attack runs    */
};

/* Mechanisms that a mode takes away. */
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
    int         lacking;   /* mechanisms that are then missing */
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
    int         user;   /* of modes that are not of root                  */
} settings;
extern settings given;

/* What the judge noticed; the first thing of each kind. */
typedef struct {
    char text[400];
    int  count;
    int  blame; /* of these, errors that name the wrong culprit                           */
    int  grave; /* of these, what no missing mechanism excuses: harm to the host's process */
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
    int  processes, threads, worker_mib, host_mib; /* the most that was seen */
    int  survivors;
    int  typed;                                    /* bytes that arrived at the terminal */
    char output[1 << 16];
} outcome;
void run_host(const world *w, const attack *a, const mode *m, outcome *result);

/* ---- verdict.c ---- */

void inspect_outcome(const world *w, const attack *a, const mode *m, const outcome *o, evidence *found);

#endif
