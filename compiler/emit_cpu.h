/* What the generated files of the CPU target agree on: the steps for each instruction set. A level is 1 to CPU_LEVELS
 * of x86-64's, or 0 for what the C compiler is told. */
#ifndef MLPC_EMIT_CPU_H
#define MLPC_EMIT_CPU_H

#include "emit.h"

/* Whether the plan asks for the level. */
bool cpu_level_wanted(const struct plan *plan, int level);
/* The next higher level that the plan asks for, or 0. */
int cpu_level_above(const struct plan *plan, int level);
/* "digits_x86_64_v3": the table of the steps for a level, and the file that defines it. */
const char *cpu_steps_name(struct arena *arena, const struct plan *plan, int level);

#endif
