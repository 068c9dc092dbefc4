/* What a sanitizer has to find: with an argument a shift that C does not define, without one a byte behind the end. */
#include <stdlib.h>

int main(int count, char **words) {
    (void)words;
    if (count > 1) return (1 << (count + 30)) & 1;
    volatile char *bytes = malloc(8);
    int value = bytes ? bytes[count + 7] : 0;
    free((void *)bytes);
    return value & 1;
}
