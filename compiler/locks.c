#include "locks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "forms.h"
#include "plan_file.h"

/* ---- Entries that this network needs ---- */

static int device_of(struct plan *plan, const mlp_plan_entry *entry)
{
    for (size_t i = 0; i < plan->plan_devices.count; i++) {
        const struct plan_device *device = &plan->plan_devices.at[i];
        if (device->multiprocessors == entry->multiprocessors && device->library == entry->library &&
            !strcmp(device->name, entry->device))
            return (int)i;
    }
    struct plan_device device = {.name = arena_copy(plan->arena, entry->device, strlen(entry->device)),
                                 .multiprocessors = entry->multiprocessors, .library = entry->library};
    VEC_PUSH(plan->arena, &plan->plan_devices, device);
    return (int)plan->plan_devices.count - 1;
}

/* A copy that outlives the file. */
static void push_lock(struct plan *plan, const mlp_plan_entry *entry)
{
    mlp_plan_entry *copy = ARENA_NEW(plan->arena, mlp_plan_entry);
    struct lock lock = {.device = device_of(plan, entry), .entry = copy};
    *copy = *entry;
    copy->device = plan->plan_devices.at[lock.device].name;
    copy->product = arena_copy(plan->arena, entry->product, strlen(entry->product));
    VEC_PUSH(plan->arena, &plan->locks, lock);
}

/* The same product at another step or batch size has the same plans. */
static const struct product *same_product(const struct plan *plan, const struct product *product)
{
    for (const struct product *one = plan->products.at; one < product; one++) {
        if (!strcmp(one->text, product->text))
            return one;
    }
    return NULL;
}

static void lock_product(struct plan *plan, struct product *product, const mlp_plan_file *file)
{
    const struct product *same = same_product(plan, product);
    product->first_lock = same ? same->first_lock : plan->locks.count;
    for (size_t i = 0; !same && i < file->count; i++) {
        const mlp_plan_entry *entry = &file->entries[i];
        bool possible = !entry->apart || plan->steps.at[product->step].apart;
        if (possible && !strcmp(entry->product, product->text))
            push_lock(plan, entry);
    }
    product->lock_count = same ? same->lock_count : plan->locks.count - product->first_lock;
}

/* Of several devices the first in the file decides: the source is one for all of them. */
static enum form form_in(const struct plan *plan, int batch, const mlp_plan_file *file)
{
    static const enum form forms[MLP_FORMS] = {
        [MLP_FORM_STEPS] = FORM_STEPS, [MLP_FORM_ROWS] = FORM_ROWS, [MLP_FORM_FEW] = FORM_FEW};
    const char *network = arena_format(plan->arena, "%s rows=%" PRId64, plan->network, plan->batches[batch]);
    for (size_t i = 0; i < file->form_count; i++) {
        if (!strcmp(file->forms[i].network, network))
            return forms[file->forms[i].form];
    }
    return FORM_COUNT;
}

static void lock_forms(struct plan *plan, const mlp_plan_file *file)
{
    plan->form_locks = ARENA_ARRAY(plan->arena, enum form, (size_t)plan->batch_count);
    for (int b = 0; b < plan->batch_count; b++)
        plan->form_locks[b] = form_in(plan, b, file);
}

/* ---- The file ---- */

bool locks_read(struct plan *plan, struct diags *diags, const char *path, const char *text, size_t length)
{
    mlp_plan_file file;
    mlp_plan_error error;
    bool good = mlp_plan_file_parse(text, length, &file, &error);
    if (!good)
        diag_error_in(diags, DIAG_PLAN_FILE, path, error.line, "%s", error.text);
    for (size_t i = 0; good && i < plan->products.count; i++)
        lock_product(plan, &plan->products.at[i], &file);
    if (good && plan->target == TARGET_CUDA)
        lock_forms(plan, &file);
    mlp_plan_file_free(&file);
    return good;
}

size_t locks_wanted(const struct plan *plan, size_t *missing)
{
    size_t wanted = 0;
    *missing = 0;
    for (size_t i = 0; i < plan->products.count; i++) {
        const struct product *product = &plan->products.at[i];
        if (!forms_run(plan, product))
            continue;
        wanted++;
        *missing += product->lock_count == 0;
    }
    return wanted;
}
