/* Wrong: it takes a signal of the host for itself. */
#include <signal.h>
static void mine(int number) { (void)number; }
#define ON_DECODE signal(SIGTERM, mine);
#include "plugin.h"
