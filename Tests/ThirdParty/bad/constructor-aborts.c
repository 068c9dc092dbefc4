/* Wrong: whoever maps this file dies. Listing must not map anything, so it has to list this one as usable. */
#include "plugin.h"

__attribute__((constructor)) static void end_the_process(void) {
    fputs("constructor-aborts.c was mapped\n", stderr);
    abort();
}
