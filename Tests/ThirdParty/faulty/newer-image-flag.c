/* Wrong: the image has a flag of the upper half that its minor does not define. */
#define CHANGE_INFO info->flags |= (uint32_t)1 << 31;
#include "plugin.h"
