/*
 * verdict.c - judges the command's exit, output and images.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "judge.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/wait.h>

void notice(evidence *found, const char *format, ...) {
    size_t  used = strlen(found->text);
    va_list list;
    if (used > 0 && used + 2 < sizeof found->text) used += (size_t)sprintf(found->text + used, "; ");
    va_start(list, format);
    vsnprintf(found->text + used, sizeof found->text - used, format, list);
    va_end(list);
    found->count++;
}

/* The first byte of the pixels is 255 if the plugin reports success. */
static int reports_success(const world *w, int index) {
    char          path[200];
    unsigned char bytes[256];
    snprintf(path, sizeof path, "%s/out/private-name-%d.pam", w->root, index + 1);
    int     file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, bytes, sizeof bytes) : -1;
    if (file >= 0) close(file);
    return length >= 12 && bytes[length - 12] == 255;
}

static int count_lines(const char *text, const char *beginning) {
    int count = 0;
    for (const char *at = text; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        count += strncmp(at, beginning, strlen(beginning)) == 0;
    }
    return count;
}

/* Effects that are not permitted in any mode. */
static void inspect_host(const attack *a, const mode *m, const outcome *o, evidence *found) {
    int is_killed = a->effect & KILLS_HOST;
    int answers = count_lines(o->output, "{");
    if (o->hung) {
        notice(found, "the host hung for %d s", HANG / 1000);
    } else if (WIFSIGNALED(o->status) && !is_killed) {
        notice(found, "the host ended by signal %d", WTERMSIG(o->status));
    }
    if (answers < IMAGE_COUNT && !is_killed) notice(found, "the host answered for %d of %d images", answers, IMAGE_COUNT);
    if (!m->is_control && strstr(o->output, "\"isolation\": {\"mode\": \"in-process\""))
        notice(found, "the host ran the plugin in its own process");
    int before = found->count;
    if (strstr(o->output, "\"code\": \"isolationUnavailable\"")) notice(found, "the host blames the sandbox");
    if (strstr(o->output, "\"code\": \"misuse\"") || strstr(o->output, "\"code\": \"internal\""))
        notice(found, "the host blames itself");
    found->blame = found->count - before;
    found->grave = found->count;
}

void inspect_outcome(const world *w, const attack *a, const mode *m, const outcome *o, evidence *found) {
    inspect_host(a, m, o, found);
    for (int i = 0; i < IMAGE_COUNT; i++) {
        if (reports_success(w, i)) notice(found, "the plugin reports success in image %d", i + 1);
    }
    if (o->survivors > 0) notice(found, "%d processes survive", o->survivors);
    if (o->typed > 0) notice(found, "%d bytes were typed into the terminal", o->typed);
    if (strstr(o->output, "HOSTILE OUTPUT")) notice(found, "output of the plugin");
    if (o->processes > MOST_PROCESSES) notice(found, "%d processes", o->processes);
    if (o->threads > MOST_THREADS) notice(found, "%d threads", o->threads);
    if (o->worker_mib > MOST_WORKER_MIB) notice(found, "%d MiB in workers", o->worker_mib);
    if (o->host_mib > MOST_HOST_MIB) notice(found, "%d MiB in the host", o->host_mib);
    if ((a->effect & TIMED) && o->milliseconds > LONGEST)
        notice(found, "%.1f s for %d images with a limit of %d ms", o->milliseconds / 1e3, IMAGE_COUNT, TIME_LIMIT);
}
