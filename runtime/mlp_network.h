/* mlp_network.h -- the state of one network and what its generated code calls to guard it. Not for users. */
#ifndef MLP_NETWORK_H
#define MLP_NETWORK_H

#include "mlp_runtime.h"

#if defined __BYTE_ORDER__ && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "networks of mlpc run on little-endian processors alone: packed weights and arrays are read as they are"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define MLP_WEIGHTS_HEADER 256      /* bytes in front of the packed parameters */

/* In C99, too, which has no _Alignas. */
#define MLP_ALIGN(bytes) __attribute__((aligned(bytes)))

#if defined(__cplusplus)
#define MLP_EXTERN extern "C"
#else
#define MLP_EXTERN extern
#endif

typedef struct mlp_network {
    int busy;                       /* taken and given back with atomic operations */
    int ready;
    const unsigned char *weights;   /* packed parameters, behind the header; NULL while there are none */
    void *loaded;                   /* the block that holds weights read from a file, or NULL */
    char error[512];                /* what the last call that failed has to say */
} mlp_network;

/* Takes the network for this thread; MLP_BUSY if another has it, MLP_NOT_READY before init. */
mlp_status mlp_enter(mlp_network *network);
/* The same for init, which must not find it ready: MLP_BAD_ARGUMENT. */
mlp_status mlp_enter_init(mlp_network *network);
/* The same, whether ready or not. */
mlp_status mlp_enter_any(mlp_network *network);
void mlp_leave(mlp_network *network);

/* Records the text for `status` (printf-like; the status' own text comes first) and returns it. */
mlp_status mlp_fail(mlp_network *network, mlp_status status, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* Checks a packed blob, header and payload, against what the network was built for. */
mlp_status mlp_weights_check(mlp_network *network, const unsigned char *blob, size_t size, size_t weights_bytes,
                             uint64_t layout, const char *from);
/* Reads a packed file into a new block, checks size, layout and checksum, and only then puts it in the place of the
 * weights in use. A path of NULL is MLP_BAD_ARGUMENT. The caller has entered the network. */
mlp_status mlp_weights_load(mlp_network *network, const char *path, size_t weights_bytes, uint64_t layout);
/* Frees what mlp_weights_load took. */
void mlp_weights_unload(mlp_network *network);

#ifdef __cplusplus
}
#endif

#endif
