/* Wrong: the image has an undefined loop_kind. */
#define CHANGE_INFO info->loop_kind = 9;
#include "plugin.h"
