/* Wrong: it uses the result of allocate without a check for NULL. */
#define SURVIVES_NO_MEMORY 0
#include "plugin.h"
