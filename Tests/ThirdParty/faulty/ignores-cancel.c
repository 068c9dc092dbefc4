/* Wrong: it polls but ignores the result. */
#define POLL(services) ((services)->poll((services)->ctx) & CPI_CONTINUE)
#include "plugin.h"
