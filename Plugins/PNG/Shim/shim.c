#include "PNG.h"
