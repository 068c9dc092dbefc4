/* Wrong: it asks whether to go on, and goes on whatever the answer is. */
#define POLL(services) ((services)->poll((services)->ctx) & CPI_CONTINUE)
#include "plugin.h"
