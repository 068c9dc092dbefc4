/* Makes allocations of the bundled coders fail. Loaded with LD_PRELOAD; the test program finds these functions by name.

   An allocation counts when its caller is a C library of a coder, or the C code of a plugin. Allocations of the Swift
   runtime never fail: Swift ends the process when one does. */
#ifndef ALLOCATION_FAULT_H
#define ALLOCATION_FAULT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counts from zero. Allocation number `nth` fails (the first is 1, 0 is none). Where `most` is not 0, each allocation
   fails that would raise the bytes taken since this call above `most`. */
void allocation_fault_arm(uint64_t nth, uint64_t most);

/* Lets every allocation succeed again. Returns the allocations since the last call of allocation_fault_arm. */
uint64_t allocation_fault_disarm(void);

/* The bytes that these allocations asked for, and how many of them failed. */
uint64_t allocation_fault_bytes(void);
uint64_t allocation_fault_failures(void);

#ifdef __cplusplus
}
#endif

#endif
