/* Tuned plans and forms as text (plan_file_parts.h), and the checksum of that text. */
#include "plan_file_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACE_ROOM = 128 };

const char *const mlp_plan_algorithm_keys[] = {"id",      "tile",   "stages",      "split_k", "reduction",
                                               "swizzle", "custom", "inner_shape", "cluster", NULL};
const char *const mlp_plan_time_keys[] = {"warm",        "cold",        "first_warm", "first_cold",
                                          "listed_warm", "listed_cold", NULL};
const char *const mlp_plan_form_keys[] = {
    [MLP_FORM_STEPS] = "steps", [MLP_FORM_ROWS] = "rows", [MLP_FORM_FEW] = "few", [MLP_FORMS] = NULL};

/* ---- The text of an entry, and its checksum ---- */

static uint64_t thousandths(double microseconds)
{
    return (uint64_t)(microseconds * 1000 + 0.5);
}

/* What follows a device's name. */
static size_t write_place(mlp_plan_place place, char tail[PLACE_ROOM])
{
    return (size_t)snprintf(tail, PLACE_ROOM, "\" multiprocessors=%d cublaslt=%zu.%zu.%zu\n",
                            place.multiprocessors, place.library / 10000, place.library / 100 % 100,
                            place.library % 100);
}

static size_t write_algorithm(const mlp_algorithm *from, char *to, size_t room)
{
    const unsigned values[] = {(unsigned)from->id, from->tile,   from->stages,      from->split_k, from->reduction,
                               from->swizzle,      from->custom, from->inner_shape, from->cluster};
    _Static_assert(sizeof values == MLP_PLAN_ALGORITHM_KEYS * sizeof *values, "a key for each attribute");
    size_t length = (size_t)snprintf(to, room, "    algorithm");
    for (size_t i = 0; i < MLP_PLAN_ALGORITHM_KEYS; i++)
        length += (size_t)snprintf(to + length, room - length, " %s=%u", mlp_plan_algorithm_keys[i], values[i]);
    return length;
}

static size_t write_times(const double *times, const char *const *keys, size_t count, char *to, size_t room)
{
    size_t length = (size_t)snprintf(to, room, "    microseconds");
    for (size_t i = 0; i < count; i++) {
        uint64_t time = thousandths(times[i]);
        length += (size_t)snprintf(to + length, room - length, " %s=%" PRIu64 ".%03" PRIu64, keys[i], time / 1000,
                                   time % 1000);
    }
    return length + (size_t)snprintf(to + length, room - length, "\n");
}

/* However large its numbers are, this takes less than 700 bytes. */
size_t mlp_plan_body(const mlp_plan_entry *entry, size_t count, char body[MLP_PLAN_BODY_ROOM])
{
    const mlp_plan_times *from = &entry->times;
    const double times[] = {from->warm,       from->cold,        from->first_warm,
                            from->first_cold, from->listed_warm, from->listed_cold};
    _Static_assert(sizeof times == MLP_PLAN_TIME_KEYS * sizeof *times, "a key for each time");
    size_t length = (size_t)snprintf(body, MLP_PLAN_BODY_ROOM, "    epilogue %s\n", entry->apart ? "apart" : "fused");
    length += write_algorithm(&entry->algorithm, body + length, MLP_PLAN_BODY_ROOM - length);
    length += (size_t)snprintf(body + length, MLP_PLAN_BODY_ROOM - length, "\n    workspace %" PRIu64 "\n    bytes",
                               entry->workspace);
    for (size_t i = 0; i < MLP_PLAN_WORDS; i++)
        length += (size_t)snprintf(body + length, MLP_PLAN_BODY_ROOM - length, " %016" PRIx64, entry->bytes[i]);
    length += (size_t)snprintf(body + length, MLP_PLAN_BODY_ROOM - length, "\n");
    return length + write_times(times, mlp_plan_time_keys, count, body + length, MLP_PLAN_BODY_ROOM - length);
}

size_t mlp_plan_form_body(const mlp_form_entry *entry, char body[MLP_PLAN_BODY_ROOM])
{
    size_t length = (size_t)snprintf(body, MLP_PLAN_BODY_ROOM, "    form %s\n", mlp_plan_form_keys[entry->form]);
    return length + write_times(entry->microseconds, mlp_plan_form_keys, MLP_FORMS, body + length,
                                MLP_PLAN_BODY_ROOM - length);
}

static uint64_t hash_on(uint64_t hash, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

uint64_t mlp_plan_hash_place(mlp_plan_place place)
{
    char tail[PLACE_ROOM];
    uint64_t hash = hash_on(UINT64_C(0xcbf29ce484222325), "device \"", 8);
    hash = hash_on(hash, place.device, strlen(place.device));
    return hash_on(hash, tail, write_place(place, tail));
}

uint64_t mlp_plan_hash_entry(uint64_t place_hash, const char *kind, const char *words, const char *body,
                             size_t body_length)
{
    uint64_t hash = hash_on(place_hash, kind, strlen(kind));
    hash = hash_on(hash, " ", 1);
    hash = hash_on(hash, words, strlen(words));
    hash = hash_on(hash, "\n", 1);
    return hash_on(hash, body, body_length);
}

/* ---- The whole file ---- */

struct writer {
    char *text;
    size_t length, room;
    int failed;
};

static void put(struct writer *writer, const char *bytes, size_t count)
{
    if (writer->failed)
        return;
    if (writer->room - writer->length < count) {
        size_t room = (writer->length + count) * 2;
        char *grown = realloc(writer->text, room);
        if (!grown) {
            writer->failed = 1;
            return;
        }
        writer->text = grown;
        writer->room = room;
    }
    memcpy(writer->text + writer->length, bytes, count);
    writer->length += count;
}

static void put_text(struct writer *writer, const char *text)
{
    put(writer, text, strlen(text));
}

/* "14.0 % less", of the time `other`, which is not 0. */
static void put_gain(struct writer *writer, uint64_t time, uint64_t other)
{
    char text[64];
    uint64_t difference = time > other ? time - other : other - time;
    uint64_t tenths = (2000 * difference + other) / (2 * other);
    snprintf(text, sizeof text, "%" PRIu64 ".%" PRIu64 " %% %s", tenths / 10, tenths % 10,
             time > other ? "more" : "less");
    put_text(writer, text);
}

/* A time of 0 was not taken, and there is nothing to compare with. */
static void put_comment(struct writer *writer, const mlp_plan_times *times)
{
    uint64_t warm = thousandths(times->warm), first = thousandths(times->first_warm);
    uint64_t listed = thousandths(times->listed_warm);
    if (!warm || !first || !listed)
        return;
    if (warm == first && thousandths(times->cold) == thousandths(times->first_cold)) {
        put_text(writer, "    # the first choice stays\n");
    } else {
        put_text(writer, "    # ");
        put_gain(writer, warm, first);
        put_text(writer, " time than the first choice, ");
        put_gain(writer, warm, listed);
        put_text(writer, " than the best that the heuristic lists\n");
    }
}

/* The form against each of the others. */
static void put_form_comment(struct writer *writer, const mlp_form_entry *entry)
{
    uint64_t time = thousandths(entry->microseconds[entry->form]);
    int said = 0;
    for (size_t i = 0; i < MLP_FORMS && time; i++) {
        uint64_t other = thousandths(entry->microseconds[i]);
        if (!other || i == (size_t)entry->form)
            continue;
        put_text(writer, said ? ", " : "    # ");
        put_text(writer, said ? "" : mlp_plan_form_keys[entry->form]);
        put_text(writer, said ? "" : " takes ");
        put_gain(writer, time, other);
        put_text(writer, said ? " than " : " time than ");
        put_text(writer, mlp_plan_form_keys[i]);
        said = 1;
    }
    put_text(writer, said ? "\n" : "");
}

static void put_place(struct writer *writer, mlp_plan_place place)
{
    char tail[PLACE_ROOM];
    put_text(writer, "\ndevice \"");
    put_text(writer, place.device);
    put(writer, tail, write_place(place, tail));
}

/* The first line of an entry. */
static void put_head(struct writer *writer, const char *kind, const char *words)
{
    put_text(writer, "\n");
    put_text(writer, kind);
    put_text(writer, " ");
    put_text(writer, words);
    put_text(writer, "\n");
}

static void put_checksum(struct writer *writer, uint64_t hash)
{
    char checksum[64];
    put(writer, checksum, (size_t)snprintf(checksum, sizeof checksum, "    checksum %016" PRIx64 "\n", hash));
}

static void put_product(struct writer *writer, const mlp_plan_entry *entry, uint64_t place_hash)
{
    char body[MLP_PLAN_BODY_ROOM];
    size_t body_length = mlp_plan_body(entry, MLP_PLAN_TIME_KEYS, body);
    put_head(writer, "product", entry->product);
    put_comment(writer, &entry->times);
    put(writer, body, body_length);
    put_checksum(writer, mlp_plan_hash_entry(place_hash, "product", entry->product, body, body_length));
}

static void put_network(struct writer *writer, const mlp_form_entry *entry, uint64_t place_hash)
{
    char body[MLP_PLAN_BODY_ROOM];
    size_t body_length = mlp_plan_form_body(entry, body);
    put_head(writer, "network", entry->network);
    put_form_comment(writer, entry);
    put(writer, body, body_length);
    put_checksum(writer, mlp_plan_hash_entry(place_hash, "network", entry->network, body, body_length));
}

/* The place of the next section, where not both lists of entries are at their ends. */
static mlp_plan_place next_place(const mlp_plan_file *file, size_t product, size_t network)
{
    if (product == file->count)
        return mlp_plan_place_of_form(&file->forms[network]);
    mlp_plan_place place = mlp_plan_place_of(&file->entries[product]);
    if (network == file->form_count)
        return place;
    mlp_plan_place other = mlp_plan_place_of_form(&file->forms[network]);
    return mlp_plan_compare_places(place, other) < 0 ? place : other;
}

static int is_same_place(mlp_plan_place a, mlp_plan_place b)
{
    return !mlp_plan_compare_places(a, b);
}

static void put_sections(struct writer *writer, const mlp_plan_file *file)
{
    size_t product = 0, network = 0;
    while (product < file->count || network < file->form_count) {
        mlp_plan_place place = next_place(file, product, network);
        uint64_t place_hash = mlp_plan_hash_place(place);
        put_place(writer, place);
        for (; network < file->form_count &&
               is_same_place(mlp_plan_place_of_form(&file->forms[network]), place); network++)
            put_network(writer, &file->forms[network], place_hash);
        for (; product < file->count && is_same_place(mlp_plan_place_of(&file->entries[product]), place); product++)
            put_product(writer, &file->entries[product], place_hash);
    }
}

char *mlp_plan_file_print(const mlp_plan_file *file, size_t *length)
{
    struct writer writer = {.text = NULL};
    put_text(&writer, "# Plans of matrix products, written by a program's --tune and compiled in by mlpc --plan.\n"
                      "# Comments are not kept, and an entry that was edited is refused.\n"
                      "mlpc plans 1\n");
    put_sections(&writer, file);
    put(&writer, "", 1);
    if (writer.failed) {
        free(writer.text);
        return NULL;
    }
    *length = writer.length - 1;
    return writer.text;
}
