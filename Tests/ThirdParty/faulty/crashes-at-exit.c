/* Wrong: what it registered for the end of the process fails. */
static void at_end(void) { *(volatile int *)16 = 1; }
#define ON_INIT atexit(at_end);
#include "plugin.h"
