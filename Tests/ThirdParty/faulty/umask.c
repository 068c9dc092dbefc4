/* Wrong: it makes the host's new files writable for all users. */
#include <sys/stat.h>
#define ON_DECODE umask(0);
#include "plugin.h"
