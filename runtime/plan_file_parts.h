/* plan_file_parts.h -- between the files that keep, print and parse what was tuned. Included by plan_file*.c alone.
 *
 *     mlpc plans 1
 *
 *     device "NVIDIA H200" multiprocessors=132 cublaslt=13.1.0
 *
 *     network policy rows=1 layout=0123456789abcdef
 *         form few
 *         microseconds steps=8.140 rows=0.000 few=5.760
 *         checksum 0123456789abcdef
 *
 *     product m=512 n=64 k=784 a=f16/784 b=f16/784 d=f16/512
 *         epilogue fused
 *         algorithm id=66 tile=602 stages=35 split_k=1 reduction=0 swizzle=0 custom=4 inner_shape=0 cluster=2
 *         workspace 0
 *         bytes 0000000000000042 ...
 *         microseconds warm=3.020 cold=4.900 first_warm=3.510 first_cold=5.310 listed_warm=3.080 listed_cold=4.950
 *         checksum 0123456789abcdef
 *
 * A device holds for the networks and products below it, which are printed in that order and read in any; where none of
 * them needs cuBLASLt, its version is 0.0.0. A network or product is any words of printable ASCII but '#' and '"';
 * nothing looks into it. Lines of spaces, and those that begin with '#', say nothing. The others are words with spaces
 * between them, in this order, and each number has one spelling, the same in every locale.
 *
 * The checksum is FNV-1a of the entry as it is printed, without comments: its device line, then `network` or `product`
 * up to `microseconds`. A device may have a long name and many entries, so nothing may work on the name once for each
 * of them: hashes go on from that of the device line, and in a file equal names are one text.
 *
 * Files older than `listed_cold` end the times of a product before it. They are read as if it said 0.000, but their
 * checksums are of what they say. */
#ifndef MLP_PLAN_FILE_PARTS_H
#define MLP_PLAN_FILE_PARTS_H

#include "plan_file.h"

/* Times are whole thousandths of a microsecond on paper, so few that a double tells them all apart. */
#define MLP_PLAN_MOST_THOUSANDTHS UINT64_C(999999999999)

enum {
    MLP_PLAN_MOST_MAJOR = 99999,    /* of the library's version */
    MLP_PLAN_ALGORITHM_KEYS = 9,
    MLP_PLAN_TIME_KEYS = 6,
    MLP_PLAN_OLD_TIME_KEYS = 5,     /* without listed_cold */
    MLP_PLAN_WORDS = sizeof((mlp_plan_entry *)0)->bytes / sizeof(uint64_t),
    MLP_PLAN_BODY_ROOM = 1024
};

/* In the order in which the attributes are printed; ends with NULL. */
extern const char *const mlp_plan_algorithm_keys[MLP_PLAN_ALGORITHM_KEYS + 1];
extern const char *const mlp_plan_time_keys[MLP_PLAN_TIME_KEYS + 1];
extern const char *const mlp_plan_form_keys[MLP_FORMS + 1];     /* as mlp_form_text, which mlpc is built without */

/* ---- Memory (plan_file.c) ---- */

/* What entries point to. A file holds a list of them. */
typedef struct mlp_plan_texts {
    struct mlp_plan_texts *next;
    char bytes[];
} mlp_plan_texts;

/* Room for that many products and networks. 0: no memory, and the file says what it said. */
int mlp_plan_file_reserve(mlp_plan_file *file, size_t products, size_t networks);

/* Gives texts to a file that has room for an entry of either kind, to be freed with it. */
void mlp_plan_file_adopt(mlp_plan_file *file, mlp_plan_texts *texts);

/* ---- Order (plan_file.c) ---- */

/* What a device line says. */
typedef struct mlp_plan_place {
    const char *device;
    int multiprocessors;
    size_t library;
} mlp_plan_place;

mlp_plan_place mlp_plan_place_of(const mlp_plan_entry *entry);
mlp_plan_place mlp_plan_place_of_form(const mlp_form_entry *entry);

/* Below, at or above 0, as strcmp. Words of products and networks are in natural order: m=64 comes before m=512. */
int mlp_plan_compare_names(const char *a, const char *b);
int mlp_plan_compare_places(mlp_plan_place a, mlp_plan_place b);
int mlp_plan_compare_words(const char *a, const char *b);

/* ---- Text (plan_file_print.c) ---- */

/* The lines between the product, with so many of its times, or the network, and the checksum. Returns their length. */
size_t mlp_plan_body(const mlp_plan_entry *entry, size_t times, char body[MLP_PLAN_BODY_ROOM]);
size_t mlp_plan_form_body(const mlp_form_entry *entry, char body[MLP_PLAN_BODY_ROOM]);

/* `kind`: the first word of the entry. `words`: those behind it. */
uint64_t mlp_plan_hash_place(mlp_plan_place place);
uint64_t mlp_plan_hash_entry(uint64_t place_hash, const char *kind, const char *words, const char *body,
                             size_t body_length);

/* ---- Characters ---- */

static inline int mlp_plan_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline int mlp_plan_is_control(char c)
{
    return (unsigned char)c < ' ' || c == 127;
}

/* Whether a word of a product or network may hold it. */
static inline int mlp_plan_in_word(char c)
{
    return c > ' ' && c < 127 && c != '#' && c != '"';
}

#endif
