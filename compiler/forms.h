/* In which form each batch size of a CUDA network is computed. */
#ifndef MLPC_FORMS_H
#define MLPC_FORMS_H

#include "options.h"
#include "plan.h"

/* Fills plan->forms: as the plan file says for any device it was tuned on, else by rule. Where no batch size needs the
 * steps, there are no products left: such a network needs no cuBLASLt. Call it after locks_read. */
void forms_choose(struct plan *plan, enum whole whole);

const char *form_name(enum form form);
/* Whether any batch size has this form in the output. */
bool forms_emit(const struct plan *plan, enum form form);
/* Whether runs take the product: those of a batch size that is one kernel are there for tools alone. */
bool forms_run(const struct plan *plan, const struct product *product);

#endif
