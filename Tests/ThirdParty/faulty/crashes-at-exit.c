/* Wrong: its exit handler crashes. */
static void at_end(void) { *(volatile int *)16 = 1; }
#define ON_INIT atexit(at_end);
#include "plugin.h"
