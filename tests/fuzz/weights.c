/* Fuzzes the runtime's reader of packed weights, which either takes a file as it is, or says why not and leaves those
 * that are in use. A wrong layout or checksum would stop every file that a fuzzer makes: the right ones are put in
 * their place, and the file is read again. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/fuzz.h"
#include "mlp_network.h"

enum { BYTES = 96, LAYOUT_AT = 8, CHECKSUM_AT = 24 };
static const uint64_t layout = 0x0123456789abcdef;

static mlp_status load(mlp_network *network, const char *bytes, size_t size)
{
    const unsigned char *before = network->weights;
    const mlp_status status = mlp_weights_load(network, fuzz_file(bytes, size), BYTES, layout);
    REQUIRE(status == MLP_OK || status == MLP_WEIGHTS_MISMATCH);
    if (status == MLP_OK) {
        REQUIRE(size == MLP_WEIGHTS_HEADER + BYTES && !memcmp(network->weights, bytes + MLP_WEIGHTS_HEADER, BYTES));
        REQUIRE((uintptr_t)network->weights % 64 == 0);
    } else {
        REQUIRE(network->weights == before && network->error[0]);
        REQUIRE(fuzz_is_plain(network->error, strlen(network->error)));
    }
    return status;
}

/* FNV-1a of words as weights.c of the runtime has it, written anew: four chains, then the chain of these. */
static uint64_t checksum(const char *bytes)
{
    uint64_t chains[5];
    for (int i = 0; i < 5; i++)
        chains[i] = 0xcbf29ce484222325u;
    for (size_t i = 0; i < BYTES / 8; i++) {
        uint64_t word;
        memcpy(&word, bytes + 8 * i, 8);
        chains[i % 4] = (chains[i % 4] ^ word) * 0x100000001b3u;
    }
    for (int i = 0; i < 4; i++)
        chains[4] = (chains[4] ^ chains[i]) * 0x100000001b3u;
    return chains[4];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mlp_network network = {.weights = NULL};
    char *bytes = fuzz_copy(data, size, false);
    load(&network, bytes, size);
    if (size == MLP_WEIGHTS_HEADER + BYTES) {
        const uint64_t right = checksum(bytes + MLP_WEIGHTS_HEADER);
        memcpy(bytes + LAYOUT_AT, &layout, sizeof layout);
        memcpy(bytes + CHECKSUM_AT, &right, sizeof right);
        load(&network, bytes, size);
    }
    mlp_weights_unload(&network);
    return 0;
}
