/* Wrong: it changes the number format of the whole process. */
#include <locale.h>
#define ON_DECODE setlocale(LC_ALL, "C.UTF-8");
#include "plugin.h"
