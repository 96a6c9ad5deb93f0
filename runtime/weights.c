/* Packed parameters: a header of MLP_WEIGHTS_HEADER bytes, then the payload that generated code reads in place.
 *
 *     0  "MLPWTS2\n"
 *     8  layout: checksum of names, types, sizes and offsets
 *    16  payload in bytes
 *    24  checksum of the payload
 *    32  zeros
 *
 * Numbers are 64 bits, little endian. */
#include "mlp_network.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "open_file.h"

/* Written so that compilers make one load of it. */
static inline uint64_t word_at(const unsigned char *b)
{
    return (uint64_t)b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 | (uint64_t)b[3] << 24 | (uint64_t)b[4] << 32 |
           (uint64_t)b[5] << 40 | (uint64_t)b[6] << 48 | (uint64_t)b[7] << 56;
}

static const uint64_t hash_start = 0xcbf29ce484222325u;

static inline uint64_t hash_word(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * 0x100000001b3u;
}

/* FNV-1a of words: of every fourth from the first on, the second, the third and the fourth; then of these four. One
 * chain of multiplications would take longer than a program of large weights takes to start and compute a row. */
static uint64_t checksum(const unsigned char *payload, size_t size)
{
    uint64_t h0 = hash_start, h1 = hash_start, h2 = hash_start, h3 = hash_start;
    size_t i = 0;
    for (; i + 32 <= size; i += 32) {
        h0 = hash_word(h0, word_at(payload + i));
        h1 = hash_word(h1, word_at(payload + i + 8));
        h2 = hash_word(h2, word_at(payload + i + 16));
        h3 = hash_word(h3, word_at(payload + i + 24));
    }
    if (i + 8 <= size)
        h0 = hash_word(h0, word_at(payload + i));
    if (i + 16 <= size)
        h1 = hash_word(h1, word_at(payload + i + 8));
    if (i + 24 <= size)
        h2 = hash_word(h2, word_at(payload + i + 16));
    return hash_word(hash_word(hash_word(hash_word(hash_start, h0), h1), h2), h3);
}

static int all_zero(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i])
            return 0;
    return 1;
}

/* `size` counts everything from the header on, of which only the header is looked at. */
static mlp_status check_header(mlp_network *network, const unsigned char *header, size_t size, size_t weights_bytes,
                               uint64_t layout, const char *from)
{
    if (size < 8 || memcmp(header, "MLPWTS2\n", 8))
        return mlp_fail(network, MLP_WEIGHTS_MISMATCH,
                        "%s: not a packed weights file; mlpc --weights=external makes one", from);
    if (size < MLP_WEIGHTS_HEADER)
        return mlp_fail(network, MLP_WEIGHTS_MISMATCH, "%s: ends within its header", from);
    if (word_at(header + 8) != layout)
        return mlp_fail(network, MLP_WEIGHTS_MISMATCH,
                        "%s: packed for another network (layout %016" PRIx64 ", this one has %016" PRIx64 ")", from,
                        word_at(header + 8), layout);
    if (size - MLP_WEIGHTS_HEADER != weights_bytes)
        return mlp_fail(network, MLP_WEIGHTS_MISMATCH, "%s: holds %zu bytes of weights, this network has %zu", from,
                        size - MLP_WEIGHTS_HEADER, weights_bytes);
    if (word_at(header + 16) != weights_bytes || !all_zero(header + 32, MLP_WEIGHTS_HEADER - 32))
        return mlp_fail(network, MLP_WEIGHTS_MISMATCH, "%s: its header is damaged", from);
    return MLP_OK;
}

mlp_status mlp_weights_check(mlp_network *network, const unsigned char *blob, size_t size, size_t weights_bytes,
                             uint64_t layout, const char *from)
{
    mlp_status status = check_header(network, blob, size, weights_bytes, layout, from);
    if (status == MLP_OK && word_at(blob + 24) != checksum(blob + MLP_WEIGHTS_HEADER, weights_bytes))
        status = mlp_fail(network, MLP_WEIGHTS_MISMATCH, "%s: the checksum is wrong", from);
    return status;
}

static mlp_status unreadable(mlp_network *network, const char *path, const char *reason)
{
    return mlp_fail(network, MLP_WEIGHTS_UNREADABLE, "%s: %s", path, reason);
}

static mlp_status read_bytes(mlp_network *network, FILE *file, const char *path, unsigned char *to, size_t size)
{
    if (fread(to, 1, size, file) == size)
        return MLP_OK;
    return unreadable(network, path, ferror(file) ? strerror(errno) : "it became shorter");
}

static mlp_status file_size(mlp_network *network, FILE *file, const char *path, size_t *size)
{
    struct stat info;
    if (fstat(fileno(file), &info))
        return unreadable(network, path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return unreadable(network, path, "not a regular file");
    *size = (size_t)info.st_size;
    return MLP_OK;
}

/* All of a file whose header is right, in a block that is aligned as the header is long. */
static mlp_status read_block(mlp_network *network, FILE *file, const char *path, size_t size, unsigned char **block)
{
    size_t rounded = (size + MLP_WEIGHTS_HEADER - 1) / MLP_WEIGHTS_HEADER * MLP_WEIGHTS_HEADER;
    *block = aligned_alloc(MLP_WEIGHTS_HEADER, rounded);
    if (!*block)
        return mlp_fail(network, MLP_NO_MEMORY, "%zu bytes for %s", rounded, path);
    rewind(file);
    mlp_status status = read_bytes(network, file, path, *block, size);
    if (status != MLP_OK)
        free(*block);
    return status;
}

/* The header is looked at before anything is allocated. */
static mlp_status read_file(mlp_network *network, FILE *file, const char *path, size_t weights_bytes, uint64_t layout,
                            unsigned char **block)
{
    unsigned char header[MLP_WEIGHTS_HEADER];
    size_t size = 0;
    mlp_status status = file_size(network, file, path, &size);
    if (status == MLP_OK)
        status = read_bytes(network, file, path, header, size < sizeof header ? size : sizeof header);
    if (status == MLP_OK)
        status = check_header(network, header, size, weights_bytes, layout, path);
    return status == MLP_OK ? read_block(network, file, path, size, block) : status;
}

mlp_status mlp_weights_load(mlp_network *network, const char *path, size_t weights_bytes, uint64_t layout)
{
    unsigned char *block = NULL;
    if (!path)
        return mlp_fail(network, MLP_BAD_ARGUMENT, "the path is NULL");
    FILE *file = mlp_open_file(path);
    if (!file)
        return unreadable(network, path, strerror(errno));
    mlp_status status = read_file(network, file, path, weights_bytes, layout, &block);
    fclose(file);
    if (status != MLP_OK)
        return status;
    status = mlp_weights_check(network, block, MLP_WEIGHTS_HEADER + weights_bytes, weights_bytes, layout, path);
    if (status != MLP_OK) {
        free(block);
        return status;
    }
    free(network->loaded);
    network->loaded = block;
    network->weights = block + MLP_WEIGHTS_HEADER;
    return MLP_OK;
}

void mlp_weights_unload(mlp_network *network)
{
    if (!network->loaded)
        return;
    free(network->loaded);
    network->loaded = NULL;
    network->weights = NULL;
}
