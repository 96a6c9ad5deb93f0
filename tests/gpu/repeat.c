/* Runs a network 100 times on the same random rows; all must give the same bytes, which are left in a file, so that two
 * builds can be compared: repeat FILE. Compile with -DMODEL=NAME_model. */
#include <stdio.h>
#include <string.h>

#include "arrays.h"

extern const mlp_model MODEL;

static size_t bytes_of(const mlp_arrays *arrays, size_t index)
{
    return arrays->rows * arrays->ports[index].width * (arrays->ports[index].dtype == MLP_F32 ? 4 : 2);
}

static int same(const mlp_arrays *a, const mlp_arrays *b)
{
    for (size_t i = 0; i < a->count; i++) {
        if (memcmp(a->at[i], b->at[i], bytes_of(a, i)))
            return 0;
    }
    return 1;
}

static int run(const mlp_arrays *x, const mlp_arrays *y)
{
    mlp_status status = MODEL.run(x->rows, (const void *const *)x->at, y->at);
    if (status != MLP_OK)
        printf("%s\n", MODEL.error());
    return status == MLP_OK;
}

static int write_all(const char *path, const mlp_arrays *y)
{
    FILE *file = fopen(path, "wb");
    for (size_t i = 0; file && i < y->count; i++)
        fwrite(y->at[i], 1, bytes_of(y, i), file);
    return file && !fclose(file);
}

int main(int argc, char **argv)
{
    const mlp_command command = {.program = "repeat", .model = &MODEL};
    size_t rows = 2 * MODEL.batches[MODEL.batch_count - 1] + 37;
    mlp_arrays x = mlp_arrays_random(&command, rows), y = mlp_arrays_outputs(&command, rows);
    mlp_arrays again = mlp_arrays_outputs(&command, rows);
    if (argc != 2 || MODEL.init(NULL) != MLP_OK) {
        printf("%s\n", MODEL.error());
        return 1;
    }
    int good = run(&x, &y) && write_all(argv[1], &y);
    for (int i = 1; good && i < 100; i++) {
        good = run(&x, &again) && same(&y, &again);
        if (!good)
            printf("run %d gives other bytes\n", i + 1);
    }
    MODEL.close();
    mlp_arrays_free(&x);
    mlp_arrays_free(&y);
    mlp_arrays_free(&again);
    return !good;
}
