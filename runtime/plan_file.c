/* Tuned plans and forms in memory: kept in order, one for each product or network on a device. The format is in
 * plan_file_parts.h. */
#include "plan_file_parts.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* What file->entries points into, and another one file->forms. The texts of either hold for both. */
struct store {
    mlp_plan_texts *texts;
    size_t room;
    max_align_t elements[];
};

static struct store *store_of(const void *elements)
{
    return elements ? (void *)((char *)(uintptr_t)elements - offsetof(struct store, elements)) : NULL;
}

/* The elements, moved where they have no room. NULL: no memory, and they stay as they were. */
static void *reserve(void *elements, size_t room, size_t size)
{
    struct store *store = store_of(elements), *grown;
    if (store && store->room >= room)
        return elements;
    if (room > (SIZE_MAX - sizeof *store) / size)
        return NULL;
    grown = realloc(store, sizeof *store + room * size);
    if (!grown)
        return NULL;
    if (!store)
        grown->texts = NULL;
    grown->room = room;
    return grown->elements;
}

int mlp_plan_file_reserve(mlp_plan_file *file, size_t products, size_t networks)
{
    mlp_plan_entry *entries = products ? reserve(file->entries, products, sizeof *entries) : file->entries;
    if (products && !entries)
        return 0;
    file->entries = entries;
    mlp_form_entry *forms = networks ? reserve(file->forms, networks, sizeof *forms) : file->forms;
    if (networks && !forms)
        return 0;
    file->forms = forms;
    return 1;
}

void mlp_plan_file_adopt(mlp_plan_file *file, mlp_plan_texts *texts)
{
    struct store *store = file->entries ? store_of(file->entries) : store_of(file->forms);
    texts->next = store->texts;
    store->texts = texts;
}

static void free_store(struct store *store)
{
    while (store && store->texts) {
        mlp_plan_texts *texts = store->texts;
        store->texts = texts->next;
        free(texts);
    }
    free(store);
}

void mlp_plan_file_free(mlp_plan_file *file)
{
    free_store(store_of(file->entries));
    free_store(store_of(file->forms));
    *file = (mlp_plan_file){.entries = NULL};
}

/* ---- Order ---- */

mlp_plan_place mlp_plan_place_of(const mlp_plan_entry *entry)
{
    return (mlp_plan_place){entry->device, entry->multiprocessors, entry->library};
}

mlp_plan_place mlp_plan_place_of_form(const mlp_form_entry *entry)
{
    return (mlp_plan_place){entry->device, entry->multiprocessors, entry->library};
}

int mlp_plan_compare_names(const char *a, const char *b)
{
    return a == b ? 0 : strcmp(a, b);
}

static int compare_sizes(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

int mlp_plan_compare_places(mlp_plan_place a, mlp_plan_place b)
{
    int order = mlp_plan_compare_names(a.device, b.device);
    if (!order)
        order = (a.multiprocessors > b.multiprocessors) - (a.multiprocessors < b.multiprocessors);
    return order ? order : compare_sizes(a.library, b.library);
}

/* Moves both behind the number that they begin with. */
static int compare_numbers(const char **a, const char **b)
{
    *a += strspn(*a, "0");
    *b += strspn(*b, "0");
    size_t digits = strspn(*a, "0123456789");
    int order = compare_sizes(digits, strspn(*b, "0123456789"));
    if (!order)
        order = memcmp(*a, *b, digits);
    *a += digits;
    *b += digits;
    return order;
}

/* Words that differ in nothing but zeros before numbers differ all the same. */
int mlp_plan_compare_words(const char *whole_a, const char *whole_b)
{
    const char *a = whole_a, *b = whole_b;
    int order = 0;
    while (!order && *a && *b) {
        if (mlp_plan_is_digit(*a) && mlp_plan_is_digit(*b))
            order = compare_numbers(&a, &b);
        else
            order = (unsigned char)*a++ - (unsigned char)*b++;
    }
    if (!order)
        order = (unsigned char)*a - (unsigned char)*b;
    return order ? order : strcmp(whole_a, whole_b);
}

/* What tells entries of one kind apart. */
struct key {
    mlp_plan_place place;
    const char *words;              /* the product or network */
};

static int compare_keys(struct key a, struct key b)
{
    int order = mlp_plan_compare_places(a.place, b.place);
    return order ? order : mlp_plan_compare_words(a.words, b.words);
}

/* The keys of all entries of one kind. */
struct keys {
    const mlp_plan_file *file;
    size_t count;
    struct key (*at)(const mlp_plan_file *file, size_t index);
};

static struct key product_key(const mlp_plan_file *file, size_t index)
{
    return (struct key){mlp_plan_place_of(&file->entries[index]), file->entries[index].product};
}

static struct key network_key(const mlp_plan_file *file, size_t index)
{
    return (struct key){mlp_plan_place_of_form(&file->forms[index]), file->forms[index].network};
}

static struct keys products_of(const mlp_plan_file *file)
{
    return (struct keys){file, file->count, product_key};
}

static struct keys networks_of(const mlp_plan_file *file)
{
    return (struct keys){file, file->form_count, network_key};
}

/* The first that does not come before this one. */
static size_t index_of(struct keys keys, struct key key)
{
    size_t low = 0, high = keys.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_keys(keys.at(keys.file, middle), key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int is_at(struct keys keys, size_t index, struct key key)
{
    return index < keys.count && !compare_keys(keys.at(keys.file, index), key);
}

/* ---- Adding ---- */

static int fits_device(const char *name)
{
    for (; *name; name++)
        if (mlp_plan_is_control(*name) || *name == '"')
            return 0;
    return 1;
}

/* Words with one space between them. */
static int fits_words(const char *words)
{
    for (size_t i = 0; words[i]; i++)
        if (!mlp_plan_in_word(words[i]) && (words[i] != ' ' || !i || !mlp_plan_in_word(words[i - 1])))
            return 0;
    return *words && words[strlen(words) - 1] != ' ';
}

static int fits_key(struct key key)
{
    return fits_device(key.place.device) && fits_words(key.words) && key.place.multiprocessors >= 0 &&
           key.place.library / 10000 <= MLP_PLAN_MOST_MAJOR;
}

/* Nor is NaN a time. */
static int fits_time(double microseconds)
{
    return microseconds >= 0 && microseconds <= (double)MLP_PLAN_MOST_THOUSANDTHS / 1000;
}

static int fits_times(const mlp_plan_times *times)
{
    return fits_time(times->warm) && fits_time(times->cold) && fits_time(times->first_warm) &&
           fits_time(times->first_cold) && fits_time(times->listed_warm) && fits_time(times->listed_cold);
}

static int fits_form(const mlp_form_entry *entry)
{
    for (size_t i = 0; i < MLP_FORMS; i++)
        if (!fits_time(entry->microseconds[i]))
            return 0;
    return (size_t)entry->form < MLP_FORMS;
}

/* The same name as an entry of this kind has it. NULL: none has it. */
static const char *known_name(struct keys keys, struct key key)
{
    size_t index = index_of(keys, key);
    for (size_t i = index ? index - 1 : 0; i <= index && i < keys.count; i++) {
        const char *name = keys.at(keys.file, i).place.device;
        if (!mlp_plan_compare_names(name, key.place.device))
            return name;
    }
    return NULL;
}

/* In a file, equal names are one text. */
static int copy_texts(mlp_plan_file *file, struct key *key)
{
    const char *shared = known_name(products_of(file), *key);
    if (!shared)
        shared = known_name(networks_of(file), *key);
    size_t word_bytes = strlen(key->words) + 1, name_bytes = shared ? 0 : strlen(key->place.device) + 1;
    mlp_plan_texts *texts = malloc(sizeof *texts + word_bytes + name_bytes);
    if (!texts)
        return 0;
    key->words = memcpy(texts->bytes, key->words, word_bytes);
    key->place.device = shared ? shared : memcpy(texts->bytes + word_bytes, key->place.device, name_bytes);
    mlp_plan_file_adopt(file, texts);
    return 1;
}

/* Enough for one more that to add many takes no longer than to keep them. */
static size_t room_behind(size_t count, const void *elements)
{
    const struct store *store = store_of(elements);
    return store && store->room > count ? store->room : count + count / 2 + 8;
}

int mlp_plan_file_add(mlp_plan_file *file, const mlp_plan_entry *entry)
{
    mlp_plan_entry added = *entry;              /* which may lie in the file itself, and move */
    struct key key = {mlp_plan_place_of(entry), entry->product};
    if (!fits_key(key) || added.algorithm.id < 0 || !fits_times(&added.times))
        return 0;
    size_t index = index_of(products_of(file), key);
    if (is_at(products_of(file), index, key)) {
        key = product_key(file, index);
    } else {
        if (!mlp_plan_file_reserve(file, room_behind(file->count, file->entries), 0) || !copy_texts(file, &key))
            return 0;
        memmove(file->entries + index + 1, file->entries + index, (file->count - index) * sizeof *file->entries);
        file->count++;
    }
    added.device = key.place.device;
    added.product = key.words;
    file->entries[index] = added;
    return 1;
}

int mlp_plan_file_add_form(mlp_plan_file *file, const mlp_form_entry *entry)
{
    mlp_form_entry added = *entry;              /* which may lie in the file itself, and move */
    struct key key = {mlp_plan_place_of_form(entry), entry->network};
    if (!fits_key(key) || !fits_form(&added))
        return 0;
    size_t index = index_of(networks_of(file), key);
    if (is_at(networks_of(file), index, key)) {
        key = network_key(file, index);
    } else {
        if (!mlp_plan_file_reserve(file, 0, room_behind(file->form_count, file->forms)) || !copy_texts(file, &key))
            return 0;
        memmove(file->forms + index + 1, file->forms + index, (file->form_count - index) * sizeof *file->forms);
        file->form_count++;
    }
    added.device = key.place.device;
    added.network = key.words;
    file->forms[index] = added;
    return 1;
}
