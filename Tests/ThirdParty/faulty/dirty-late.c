/* Wrong: it does not say which part a decode changed before the image is complete. */
#define DIRTY_STATES DECODED
#include "plugin.h"
