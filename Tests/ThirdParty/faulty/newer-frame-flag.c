/* Wrong: each frame has a flag of the upper half that its minor does not define. */
#define CHANGE_FRAME frame->flags |= (uint32_t)1 << 16;
#include "plugin.h"
