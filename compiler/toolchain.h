/* Calls the C compiler on generated sources: --exe and --lib. Commands run without a shell; the result is made aside
 * and renamed. */
#ifndef MLPC_TOOLCHAIN_H
#define MLPC_TOOLCHAIN_H

#include "options.h"
#include "output.h"
#include "plan.h"

/* `sources` holds the generated files under bare names ("digits.c"). Adds to `outputs` the program, or NAME.h and
 * libNAME.a in `folder`, made aside. False after a message. */
bool toolchain_program(const struct plan *plan, const struct outputs *sources, const char *program,
                       enum linking linking, struct outputs *outputs);
bool toolchain_library(const struct plan *plan, const struct outputs *sources, const char *folder,
                       struct outputs *outputs);

#endif
