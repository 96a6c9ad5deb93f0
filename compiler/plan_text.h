/* What a step computes, in the language's own words: "h1 = relu(linear(x, fc1))". */
#ifndef MLPC_PLAN_TEXT_H
#define MLPC_PLAN_TEXT_H

#include "plan.h"

const char *plan_text(const struct plan *plan, const struct step *step);

#endif
