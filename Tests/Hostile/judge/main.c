/*
 * main.c - the table of attacks and modes, and the verdict of each cell.
 *
 *     judge --build FOLDER --plugin FILE --denier FILE [--attack NAME]... [--mode NAME]... [--reduced] [--part N/OF]
 *     judge --list
 *
 * Prints a line for each cell: attack, stage, mode, expected, found, result (pass, FAIL or skipped), evidence or errors.
 * Exits with 1 if a cell failed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "judge.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

const attack attacks[] = {
#define ATTACK(name, issue, stages, effect, walls, text) {#name, issue, stages, effect, walls, text},
#include "../attacks.def"
#undef ATTACK
};
const int attack_count = sizeof attacks / sizeof attacks[0];

#define NARROW "require:limits,landlock,seccomp"
const mode modes[] = {
    /* name            root  denied        lacking     isolation  workers  refused control */
    {"off-root",         1, NULL,         0,          "off",     "fresh",   0, 1},
    {"off-user",         0, NULL,         0,          "off",     "fresh",   0, 1},
    {"auto-root",        1, NULL,         0,          "auto",    "fresh",   0, 0},
    {"auto-user",        0, NULL,         0,          "auto",    "fresh",   0, 0},
    {"require-root",     1, NULL,         0,          "require", "fresh",   0, 0},
    {"require-user",     0, NULL,         0,          "require", "fresh",   0, 0},
    {"reuse-user",       0, NULL,         REUSE,      "require", "reuse:9", 0, 0},
    {"container-root",   1, "namespaces", NAMESPACES, "auto",    "fresh",   0, 0},
    {"container-user",   0, "namespaces", NAMESPACES, "auto",    "fresh",   0, 0},
    {"narrow-user",      0, "namespaces", NAMESPACES, NARROW,    "fresh",   0, 0},
    {"no-landlock-user", 0, "landlock",   LANDLOCK,   "auto",    "fresh",   0, 0},
    {"no-listener-user", 0, "listener",   LISTENER,   "auto",    "fresh",   0, 0},
    {"no-seccomp-user",  0, "seccomp",    SECCOMP,    "auto",    "fresh",   0, 0},
    {"no-limits-user",   0, "limits",     LIMITS,     "auto",    "fresh",   0, 0},
    {"refused-root",     1, "namespaces", NAMESPACES, "require", "fresh",   1, 0},
    {"refused-user",     0, "landlock",   LANDLOCK,   "require", "fresh",   1, 0},
};
const int mode_count = sizeof modes / sizeof modes[0];

settings given = {NULL, NULL, NULL, 65534};

static const char *const stage_names[] = {"load", "init", "decode", "close", "left", "unsealed", "leak"};

/* ---- expectations ---- */

/* The second filter confines a sealed worker, even if other mechanisms are missing. */
static int is_sealed_stage(int stage) { return stage == AT_DECODE || stage == AT_CLOSE; }

static const char *expectation(const attack *a, int stage, const mode *m) {
    if (m->is_control) return "escaped";
    if (m->is_refused) return "refused";
    int counted = is_sealed_stage(stage) ? SECCOMP | LIMITS | REUSE : ~0;
    if (m->lacking & SECCOMP) return a->walls ? "degraded" : "held";
    return m->lacking & a->walls & counted ? "degraded" : "held";
}

/* Without isolation every attack should succeed; an attack without effect there proves nothing. */
static int tells_nothing(const attack *a, int stage, const mode *m) {
    int first = 1;
    while (!(a->stages & first)) first <<= 1;
    if (m->is_refused) return stage != first;
    if (!m->is_control) return 0;
    return !(a->effect & (EVERYONE | ROOT | MAYBE)) || ((a->effect & ROOT) && !m->is_root) || stage == UNSEALED;
}

/* The reason why this machine cannot run a mode, or NULL. A process of the mode's user checks this once. */
static const char *find_obstacle(const mode *m) {
    static int known[2]; /* 0: unknown, 1: it can, -1: it cannot */
    int       *answer = &known[m->is_root], status = 0;
    if (m->is_root && geteuid() != 0) return "needs root";
    if (*answer == 0) {
        char path[512];
        snprintf(path, sizeof path, "%s/coderhost", given.build);
        pid_t child = fork();
        if (child == 0) {
            if (!m->is_root && geteuid() == 0 && setresuid((uid_t)given.user, (uid_t)given.user, (uid_t)given.user) != 0)
                _exit(1);
            _exit(access(path, X_OK) != 0 || access(given.denier, X_OK) != 0);
        }
        *answer = child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 1 : -1;
    }
    return *answer > 0 ? NULL : "this user may not run the programs";
}

/* ---- one cell ---- */

static int failures, cells, skipped;

/* Returns the first error of the command, which shows how the attack was prevented. */
static void describe_error(const outcome *o, char *text, size_t room) {
    static const char key[] = "\"message\": \"";
    const char       *message = strstr(o->output, key);
    const char       *end = message ? strstr(message + sizeof key, "\"") : NULL;
    const char       *code = strstr(o->output, "\"code\": \"");
    text[0] = '\0';
    if (code) {
        code += 9;
        snprintf(text, room, "%.*s: %.*s", (int)strcspn(code, "\""), code,
                 end ? (int)(end - message - (long)sizeof key + 1) : 0, message ? message + sizeof key - 1 : "");
    }
}

static void print_cell(const attack *a, int stage, const mode *m, const char *expected, const char *found,
                       const char *result, const char *note) {
    int number = 0;
    while (1 << number != stage) number++;
    printf("%s\t%s\t%s\t%s\t%s\t%s\t%s\n", a->name, stage_names[number], m->name, expected, found, result, note);
    fflush(stdout);
}

static void judge_cell(const attack *a, int stage, const mode *m) {
    const char *expected = expectation(a, stage, m);
    const char *obstacle = find_obstacle(m);
    if (tells_nothing(a, stage, m)) return;
    if (obstacle) {
        skipped++;
        print_cell(a, stage, m, expected, "-", "skipped", obstacle);
        return;
    }
    static world   w;
    static outcome o;
    evidence       found = {"", 0, 0, 0};
    char           note[600];
    if (world_make(&w, m->is_root ? 0 : given.user) != 0 || world_arm(&w, a, stage) != 0) {
        fprintf(stderr, "judge: the folder for %s cannot be created\n", a->name);
        exit(69);
    }
    run_host(&w, a, m, &o);
    int is_refusal = strstr(o.output, "\"code\": \"isolationUnavailable\"") && strstr(o.output, "the sandbox lacks");
    if (!(m->is_refused && is_refusal)) inspect_outcome(&w, a, m, &o, &found);
    world_inspect(&w, &found);
    canary_inspect(&found);
    world_remove(&w);
    describe_error(&o, note, sizeof note);
    const char *outcome_word = found.count > found.blame ? "escaped"
                               : found.blame > 0         ? "blamed"
                               : m->is_refused && is_refusal ? "refused" : "held";
    int is_unavailable = m->is_control && (a->effect & MAYBE) && found.count == 0;
    int passes = strcmp(outcome_word, expected) == 0 || is_unavailable ||
                 (strcmp(expected, "degraded") == 0 && found.grave == 0);
    cells++;
    failures += !passes;
    skipped += is_unavailable;
    char all[1100];
    snprintf(all, sizeof all, "%s%s%s (%d ms)", found.text, found.count && note[0] ? " | " : "", note, o.milliseconds);
    if (is_unavailable) snprintf(all, sizeof all, "this kernel or user refuses it without isolation, too");
    print_cell(a, stage, m, expected, outcome_word, is_unavailable ? "skipped" : passes ? "pass" : "FAIL", all);
    if (getenv("JUDGE_SHOWS_OUTPUT")) fprintf(stderr, "%s\n", o.output);
}

/* ---- the command line ---- */

enum { MOST_NAMES = 64 };
static const char *wanted_attacks[MOST_NAMES], *wanted_modes[MOST_NAMES], *wanted_stages[MOST_NAMES];

static int is_wanted(const char *const *names, const char *name) {
    if (!names[0]) return 1;
    for (int i = 0; names[i]; i++) {
        if (strcmp(names[i], name) == 0) return 1;
    }
    return 0;
}

static void want(const char **names, const char *name) {
    int i = 0;
    while (names[i]) i++;
    if (i + 1 < MOST_NAMES) names[i] = name;
}

static void list(void) {
    for (int i = 0; i < attack_count; i++) {
        printf("%s\t%s\t", attacks[i].name, attacks[i].issue);
        for (int s = 0; s < STAGE_COUNT; s++) {
            if (attacks[i].stages & 1 << s) printf("%s ", stage_names[s]);
        }
        printf("\t%s\n", attacks[i].text);
    }
}

/* Each attack once, at its first stage, in two alternating modes. */
static int is_in_reduced_set(int index, int stage, const mode *m) {
    static const char *const two[] = {"auto-root", "require-user"};
    int first = 1;
    while (!(attacks[index].stages & first)) first <<= 1;
    int needs_user = geteuid() != 0;
    return stage == first && strcmp(m->name, needs_user ? "require-user" : two[index % 2]) == 0;
}

int main(int count, char **arguments) {
    int reduced = 0, part = 0, parts = 1;
    if (geteuid() != 0) given.user = (int)geteuid();
    for (int i = 1; i < count; i++) {
        const char *word = arguments[i];
        if (strcmp(word, "--list") == 0) return list(), 0;
        if (strcmp(word, "--reduced") == 0) {
            reduced = 1;
            continue;
        }
        const char *value = i + 1 < count ? arguments[++i] : NULL;
        if (!value) break;
        if (strcmp(word, "--build") == 0) given.build = value;
        if (strcmp(word, "--plugin") == 0) given.plugin = value;
        if (strcmp(word, "--denier") == 0) given.denier = value;
        if (strcmp(word, "--attack") == 0) want(wanted_attacks, value);
        if (strcmp(word, "--mode") == 0) want(wanted_modes, value);
        if (strcmp(word, "--stage") == 0) want(wanted_stages, value);
        if (strcmp(word, "--part") == 0) sscanf(value, "%d/%d", &part, &parts);
    }
    if (!given.build || !given.plugin || !given.denier || parts < 1) {
        fprintf(stderr, "usage: judge --build FOLDER --plugin FILE --denier FILE [--attack NAME] [--stage NAME]"
                        " [--mode NAME] [--reduced] [--part N/OF] | --list\n");
        return 64;
    }
    /* The judge adopts orphaned processes and counts them. */
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    umask(022);
    int cell = 0;
    for (int i = 0; i < attack_count; i++) {
        for (int s = 0; s < STAGE_COUNT; s++) {
            for (int k = 0; k < mode_count; k++) {
                if (!(attacks[i].stages & 1 << s) || !is_wanted(wanted_attacks, attacks[i].name) ||
                    !is_wanted(wanted_stages, stage_names[s]) || !is_wanted(wanted_modes, modes[k].name) ||
                    (reduced && !is_in_reduced_set(i, 1 << s, &modes[k])))
                    continue;
                if (cell++ % parts == part) judge_cell(&attacks[i], 1 << s, &modes[k]);
            }
        }
    }
    fprintf(stderr, "judge: %d attacks, %d cells, %d failed, %d skipped\n", attack_count, cells, failures,
            skipped);
    return cells == 0 ? 64 : failures > 0;
}
