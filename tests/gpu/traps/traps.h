/* Tests of what goes wrong silently on a GPU. A test of trap number NN prints "ok trap NN: what" or "not ok ...". */
#ifndef TRAPS_H
#define TRAPS_H

#include <stddef.h>

void trap(int number, int good, const char *what, const char *why);
/* A trap that is not tested here, and why. */
void trap_not_here(int number, const char *why);
/* Ends the test where a call of CUDA itself fails. */
void trap_cuda(int error, const char *call);
#define CUDA(call) trap_cuda((int)(call), #call)

/* products.c: products described by hand. `small`: a few sizes only. */
void test_no_candidate(void);
void test_cancelling_sums(void);
void test_tail_of_k(int small);
void test_workspace(void);
void test_locked_plans(void);

#endif
