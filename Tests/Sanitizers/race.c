/* What the thread sanitizer has to find: two threads that write one number. */
#include <pthread.h>
#include <stddef.h>

static int number;

static void *write_it(void *value) {
    number = value != NULL;
    return NULL;
}

int main(void) {
    pthread_t other;
    if (pthread_create(&other, NULL, write_it, &number) != 0) return 1;
    number = 2;
    pthread_join(other, NULL);
    return 0;
}
