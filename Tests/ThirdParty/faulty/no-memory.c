/* Wrong: it uses what allocate answered, NULL or not. */
#define SURVIVES_NO_MEMORY 0
#include "plugin.h"
