/* The products of a CUDA network, each batch size apart: what a tuned plan depends on, in words. */
#ifndef MLPC_PRODUCTS_H
#define MLPC_PRODUCTS_H

#include "plan.h"

/* Fills plan->network, plan->products, and step.apart where the epilogue may be a kernel of its own. Needs places. */
void products_list(struct plan *plan);

#endif
