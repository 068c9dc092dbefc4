/* Wrong: its constructor aborts the process. Listing must not map files, so it must list this plugin as usable. */
#include "plugin.h"

__attribute__((constructor)) static void end_the_process(void) {
    fputs("constructor-aborts.c was mapped\n", stderr);
    abort();
}
