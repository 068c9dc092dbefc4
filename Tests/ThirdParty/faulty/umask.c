/* Wrong: it lets everybody write what the host creates. */
#include <sys/stat.h>
#define ON_DECODE umask(0);
#include "plugin.h"
