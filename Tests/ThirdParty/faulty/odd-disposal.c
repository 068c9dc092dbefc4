/* Wrong: a frame has a disposal without a definition. */
#define CHANGE_FRAME frame->disposal = 9;
#include "plugin.h"
