/*
 * The linker is run by Swift's driver, which adds the Swift runtime to every program. Its own tool for reading link
 * options out of object files puts what stands here in front of that library, so that it is taken only if something
 * needs it; nothing does.
 */
#if defined(__clang__)
/* It would list the text among the variables that it guards, and that section does not get into the program. */
#define NOT_FOR_SANITIZERS no_sanitize("address"),
#else
#define NOT_FOR_SANITIZERS
#endif

__attribute__((NOT_FOR_SANITIZERS section(".swift1_autolink_entries"), used))
static const char options[] = "-Wl,--as-needed";
