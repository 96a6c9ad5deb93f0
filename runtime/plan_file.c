/* Tuned plans in memory: kept in order, one for each product on a device. The format is in plan_file_parts.h. */
#include "plan_file_parts.h"

#include <stdlib.h>
#include <string.h>

/* What file->entries points into. */
struct store {
    mlp_plan_texts *texts;
    size_t room;
    mlp_plan_entry entries[];
};

static struct store *store_of(const mlp_plan_file *file)
{
    return file->entries ? (void *)((char *)file->entries - offsetof(struct store, entries)) : NULL;
}

int mlp_plan_file_reserve(mlp_plan_file *file, size_t room)
{
    struct store *store = store_of(file), *grown;
    if (store && store->room >= room)
        return 1;
    if (room > (SIZE_MAX - sizeof *store) / sizeof *store->entries)
        return 0;
    grown = realloc(store, sizeof *store + room * sizeof *store->entries);
    if (!grown)
        return 0;
    if (!store)
        grown->texts = NULL;
    grown->room = room;
    file->entries = grown->entries;
    return 1;
}

void mlp_plan_file_adopt(mlp_plan_file *file, mlp_plan_texts *texts)
{
    struct store *store = store_of(file);
    texts->next = store->texts;
    store->texts = texts;
}

void mlp_plan_file_free(mlp_plan_file *file)
{
    struct store *store = store_of(file);
    while (store && store->texts) {
        mlp_plan_texts *texts = store->texts;
        store->texts = texts->next;
        free(texts);
    }
    free(store);
    *file = (mlp_plan_file){.entries = NULL};
}

/* ---- Order ---- */

mlp_plan_place mlp_plan_place_of(const mlp_plan_entry *entry)
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

/* Products that differ in nothing but zeros before numbers differ all the same. */
int mlp_plan_compare_products(const char *whole_a, const char *whole_b)
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

static int compare_entries(const mlp_plan_entry *a, const mlp_plan_entry *b)
{
    int order = mlp_plan_compare_places(mlp_plan_place_of(a), mlp_plan_place_of(b));
    return order ? order : mlp_plan_compare_products(a->product, b->product);
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
static int fits_product(const char *product)
{
    for (size_t i = 0; product[i]; i++)
        if (!mlp_plan_in_word(product[i]) && (product[i] != ' ' || !i || !mlp_plan_in_word(product[i - 1])))
            return 0;
    return *product && product[strlen(product) - 1] != ' ';
}

/* Nor is NaN a time. */
static int fits_time(double microseconds)
{
    return microseconds >= 0 && microseconds <= (double)MLP_PLAN_MOST_THOUSANDTHS / 1000;
}

/* Whether the file can say this. */
static int fits(const mlp_plan_entry *entry)
{
    const mlp_plan_times *times = &entry->times;
    return fits_device(entry->device) && fits_product(entry->product) && entry->multiprocessors >= 0 &&
           entry->library / 10000 <= MLP_PLAN_MOST_MAJOR && entry->algorithm.id >= 0 && fits_time(times->warm) &&
           fits_time(times->cold) && fits_time(times->first_warm) && fits_time(times->first_cold) &&
           fits_time(times->listed_warm);
}

/* The first entry that does not come before this one. */
static size_t place_of(const mlp_plan_file *file, const mlp_plan_entry *entry)
{
    size_t low = 0, high = file->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_entries(&file->entries[middle], entry) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The same name as a neighbour has it: in a file, equal names are one text. NULL: no neighbour has it. */
static const char *neighbouring_name(const mlp_plan_file *file, size_t place, const char *name)
{
    if (place > 0 && !mlp_plan_compare_names(file->entries[place - 1].device, name))
        return file->entries[place - 1].device;
    if (place < file->count && !mlp_plan_compare_names(file->entries[place].device, name))
        return file->entries[place].device;
    return NULL;
}

static int copy_texts(mlp_plan_file *file, size_t place, mlp_plan_entry *entry)
{
    const char *shared = neighbouring_name(file, place, entry->device);
    size_t product_bytes = strlen(entry->product) + 1, name_bytes = shared ? 0 : strlen(entry->device) + 1;
    mlp_plan_texts *texts = malloc(sizeof *texts + product_bytes + name_bytes);
    if (!texts)
        return 0;
    entry->product = memcpy(texts->bytes, entry->product, product_bytes);
    entry->device = shared ? shared : memcpy(texts->bytes + product_bytes, entry->device, name_bytes);
    mlp_plan_file_adopt(file, texts);
    return 1;
}

static int room_for_one(mlp_plan_file *file)
{
    const struct store *store = store_of(file);
    return (store && store->room > file->count) || mlp_plan_file_reserve(file, file->count + file->count / 2 + 8);
}

int mlp_plan_file_add(mlp_plan_file *file, const mlp_plan_entry *entry)
{
    mlp_plan_entry added = *entry;              /* which may lie in the file itself, and move */
    if (!fits(&added))
        return 0;
    size_t place = place_of(file, &added);
    if (place < file->count && !compare_entries(&file->entries[place], &added)) {
        added.device = file->entries[place].device;
        added.product = file->entries[place].product;
        file->entries[place] = added;
        return 1;
    }
    if (!room_for_one(file) || !copy_texts(file, place, &added))
        return 0;
    memmove(file->entries + place + 1, file->entries + place, (file->count - place) * sizeof *file->entries);
    file->entries[place] = added;
    file->count++;
    return 1;
}
