/* One row of a network's memory. Row 0 stands for every row: its bytes in the arena, of all values, are sorted and
 * the gaps between them dropped; bytes of inputs and outputs get a stretch of their own for each port. An element's
 * place is counted in steps of two bytes, the smallest size there is. */
#include "image.h"

#include <stdlib.h>

#include "element.h"

enum { STEP = 2 };

struct stretch {
    mlp_place place;
    int port;
    size_t begin, end;              /* bytes from the start of the place */
    size_t value;
};

static struct stretch stretch_of(const mlp_model *model, size_t index)
{
    const mlp_value *value = &model->values[index];
    int port = value->place == MLP_ARENA ? 0 : value->port;
    size_t end = value->offset + value->width * mlp_dtype_size(value->dtype);
    return (struct stretch){value->place, port, value->offset, end, index};
}

static int compare(const void *left, const void *right)
{
    const struct stretch *a = left, *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    if (a->port != b->port)
        return a->port < b->port ? -1 : 1;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* `sorted` by place: a stretch that overlaps those before it starts inside them, any other behind them. */
static void assign(mlp_image *image, const struct stretch *sorted, size_t count)
{
    size_t end = 0;                 /* of the bytes seen so far, in the place under way */
    for (size_t i = 0; i < count; i++) {
        int fresh = i == 0 || sorted[i].place != sorted[i - 1].place || sorted[i].port != sorted[i - 1].port;
        if (fresh || sorted[i].begin >= end)
            end = sorted[i].begin;
        image->place[sorted[i].value] = image->row_size - (end - sorted[i].begin) / STEP;
        if (sorted[i].end > end) {
            image->row_size += (sorted[i].end - end) / STEP;
            end = sorted[i].end;
        }
    }
}

int mlp_image_open(mlp_image *image, const mlp_model *model, size_t rows)
{
    size_t count = model->value_count;
    struct stretch *sorted = malloc(count * sizeof *sorted);
    *image = (mlp_image){.model = model, .place = malloc(count * sizeof *image->place)};
    if (sorted && image->place) {
        for (size_t i = 0; i < count; i++)
            sorted[i] = stretch_of(model, i);
        qsort(sorted, count, sizeof *sorted, compare);
        assign(image, sorted, count);
        image->at = calloc(rows * image->row_size, sizeof *image->at);
    }
    free(sorted);
    return image->at != NULL;
}

void mlp_image_close(mlp_image *image)
{
    free(image->place);
    free(image->at);
}

static double *element(const mlp_image *image, size_t row, size_t value, size_t column)
{
    size_t step = mlp_dtype_size(image->model->values[value].dtype) / STEP;
    return &image->at[row * image->row_size + image->place[value] + column * step];
}

void mlp_image_write(mlp_image *image, size_t row, size_t value, const double *from)
{
    for (size_t c = 0; c < image->model->values[value].width; c++)
        *element(image, row, value, c) = from[c];
}

void mlp_image_read(const mlp_image *image, size_t row, size_t value, double *to)
{
    for (size_t c = 0; c < image->model->values[value].width; c++)
        to[c] = *element(image, row, value, c);
}
