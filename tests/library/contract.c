/* What the statuses of a library promise, on a digits network whose weights are in a file: contract digits.weights.
 * Prints what does not hold. C99. */
#include <stdio.h>
#include <string.h>

#include "digits.h"

static int broken;

static void holds(int condition, const char *what)
{
    if (condition)
        return;
    printf("does not hold: %s (%s)\n", what, digits_error());
    broken = 1;
}

int main(int argc, char **argv)
{
    static float x[digits_x_WIDTH], y[digits_y_WIDTH], z[digits_y_WIDTH];
    const void *from[] = {x};
    void *to[] = {y};
    mlp_options options = {0};
    size_t step;

    options.weights = argc > 1 ? argv[1] : NULL;
    holds(digits_run(1, x, y) == MLP_NOT_READY, "run before init is MLP_NOT_READY");
    holds(digits_model.begin(1, from, to) == MLP_NOT_READY, "begin before init is MLP_NOT_READY");
    holds(digits_model.run_step(0) == MLP_NOT_READY, "a step before init is MLP_NOT_READY");
    holds(digits_model.read_arena(0, 4, z) == MLP_NOT_READY, "read_arena before init is MLP_NOT_READY");
    holds(digits_model.read_weights(0, 4, z) == MLP_NOT_READY, "so is read_weights");
    options.threads = (int)digits_model.threads + 1;
    holds(digits_init(&options) == MLP_BAD_ARGUMENT, "init with more threads than there are is MLP_BAD_ARGUMENT");
    options.threads = -1;
    holds(digits_init(&options) == MLP_BAD_ARGUMENT, "init with -1 threads is MLP_BAD_ARGUMENT");
    options.threads = 0;
    holds(digits_run(1, x, y) == MLP_NOT_READY, "run after that is MLP_NOT_READY");
    holds(digits_init(NULL) == MLP_OK, "init without weights is MLP_OK, also after one with weights that failed");
    holds(digits_run(1, x, y) == MLP_NO_WEIGHTS, "run without weights is MLP_NO_WEIGHTS");
    holds(digits_model.begin(1, from, to) == MLP_NO_WEIGHTS, "begin without weights is MLP_NO_WEIGHTS");
    holds(digits_model.read_weights(0, 4, z) == MLP_NO_WEIGHTS, "read_weights without weights is MLP_NO_WEIGHTS");
    holds(digits_load_weights(NULL) == MLP_BAD_ARGUMENT, "load_weights(NULL) is MLP_BAD_ARGUMENT");
    holds(digits_load_weights(options.weights) == MLP_OK, "load_weights is MLP_OK");
    holds(digits_run(1, x, z) == MLP_OK, "run is MLP_OK then");
    holds(digits_model.run_step(0) == MLP_BAD_ARGUMENT, "a step before begin is MLP_BAD_ARGUMENT");
    holds(digits_model.begin(1, from, to) == MLP_OK, "begin is MLP_OK then");
    holds(digits_load_weights(options.weights) == MLP_OK, "load_weights after begin is MLP_OK");
    for (step = 0; step < digits_model.step_count; step++)
        holds(digits_model.run_step(step) == MLP_OK, "each step is MLP_OK, with the weights of then");
    holds(!memcmp(y, z, sizeof y), "the steps give what run gives");
    holds(digits_model.run_step(step) == MLP_BAD_ARGUMENT, "a step more than there are is MLP_BAD_ARGUMENT");
    holds(digits_model.read_weights(digits_WEIGHTS_BYTES - 4, 8, z) == MLP_BAD_ARGUMENT,
          "bytes behind the weights are MLP_BAD_ARGUMENT");
    holds(digits_init(&options) == MLP_BAD_ARGUMENT, "init twice is MLP_BAD_ARGUMENT");
    holds(digits_run(1, x, y) == MLP_OK, "run after that is MLP_OK");
    holds(digits_run((size_t)-1, x, y) == MLP_BAD_ARGUMENT, "run of more rows than there can be is MLP_BAD_ARGUMENT");
    digits_close();
    holds(digits_run(1, x, y) == MLP_NOT_READY, "run after close is MLP_NOT_READY");
    holds(digits_model.run_step(0) == MLP_NOT_READY, "a step after close is MLP_NOT_READY");
    holds(digits_init(&options) == MLP_OK, "init after close is MLP_OK");
    holds(digits_model.run_step(0) == MLP_BAD_ARGUMENT, "a step before begin is MLP_BAD_ARGUMENT again");
    holds(digits_run(1, x, y) == MLP_OK, "run is MLP_OK again");
    digits_close();
    return broken;
}
