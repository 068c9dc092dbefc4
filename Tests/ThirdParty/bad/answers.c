/* Fails every call from the header on. -DANSWER=CPI_NOT_MINE, CPI_UNSUPPORTED or CPI_CORRUPT (the default). */
#ifndef ANSWER
#define ANSWER CPI_CORRUPT
#endif
#include "plugin.h"
