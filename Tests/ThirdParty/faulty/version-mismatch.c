/* Wrong: the running plugin has another version than its manifest. */
#define REPORTED_VERSION "2.0.0"
#include "plugin.h"
