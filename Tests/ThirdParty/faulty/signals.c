/* Wrong: it replaces a signal handler of the host. */
#include <signal.h>
static void mine(int number) { (void)number; }
#define ON_DECODE signal(SIGTERM, mine);
#include "plugin.h"
