/*
 * Swift's driver runs the linker and adds the Swift runtime to every program. Its tool that reads link options from
 * object files places the options below before that library. The linker then includes it only if a symbol needs it,
 * which is never the case.
 */
#if defined(__clang__)
/* The sanitizer would list the text as a guarded variable, but its section is not part of the program. */
#define NOT_FOR_SANITIZERS no_sanitize("address"),
#else
#define NOT_FOR_SANITIZERS
#endif

__attribute__((NOT_FOR_SANITIZERS section(".swift1_autolink_entries"), used))
static const char options[] = "-Wl,--as-needed";
