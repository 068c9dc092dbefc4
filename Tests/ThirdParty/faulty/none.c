/* Nothing is wrong with it. */
#include "plugin.h"
