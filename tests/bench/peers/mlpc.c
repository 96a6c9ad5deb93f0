/* A network that mlpc compiled, through its mlp_model. Compile with -DHEADER='"digits.h"' -DMODEL=digits_model. */
#include HEADER

#include "peer.h"

const char *peer_open(const struct peer_network *network)
{
    const mlp_options options = {.threads = network->threads};
    if (MODEL.inputs[0].width != network->inputs || MODEL.outputs[0].width != network->outputs)
        return "another network";
    return MODEL.init(&options) == MLP_OK ? NULL : MODEL.error();
}

const char *peer_run(size_t rows, const float *x, float *y)
{
    const void *const inputs[] = {x};
    void *const outputs[] = {y};
    return MODEL.run(rows, inputs, outputs) == MLP_OK ? NULL : MODEL.error();
}
