/* Wrong: an error is forgotten by the next call. */
#define KEEPS_FAILURE 0
#include "plugin.h"
