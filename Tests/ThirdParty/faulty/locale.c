/* Wrong: it makes the whole process write numbers as it likes them. */
#include <locale.h>
#define ON_DECODE setlocale(LC_ALL, "C.UTF-8");
#include "plugin.h"
