/* Tuned plans from a plan file, put beside the products that they are for. */
#ifndef MLPC_LOCKS_H
#define MLPC_LOCKS_H

#include "diag.h"
#include "plan.h"

/* Reads the text of a plan file and fills plan->locks. False after a message that names the line of the file. */
bool locks_read(struct plan *plan, struct diags *diags, const char *path, const char *text, size_t length);

/* Of the products that runs take: how many there are, and how many have no plan for any device. After the forms. */
size_t locks_wanted(const struct plan *plan, size_t *missing);

#endif
