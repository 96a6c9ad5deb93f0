/* A recursive walk over the expression. Matrices are computed in the rows asked for; the vectors that scale them
 * are small and computed whole, each time they are needed. */
#include "param_eval.h"

#include <math.h>
#include <string.h>

#include "tensor_read.h"

enum { BLOCK_ELEMENTS = 1 << 18 };

int64_t param_block_rows(int64_t cols)
{
    return cols < BLOCK_ELEMENTS ? BLOCK_ELEMENTS / cols : 1;
}

/* Operand `index` of `param` in the rows given, in memory of the scratch arena. */
static double *operand(struct arena *scratch, const struct weights *weights, const struct param *param, int index,
                       int64_t row, int64_t rows)
{
    const struct param *of = param->of[index];
    double *values = ARENA_ARRAY(scratch, double, (size_t)(rows * of->cols));
    param_eval(weights, of, row, rows, values);
    return values;
}

static double *vector(struct arena *scratch, const struct weights *weights, const struct param *param, int index)
{
    return operand(scratch, weights, param, index, 0, 1);
}

static void eval_batchnorm_scale(struct arena *scratch, const struct weights *weights, const struct param *param,
                                 double *to)
{
    const double *weight = vector(scratch, weights, param, 0), *variance = vector(scratch, weights, param, 1);
    for (int64_t i = 0; i < param->cols; i++)
        to[i] = weight[i] / sqrt(variance[i] + param->eps);
}

static void eval_batchnorm_shift(struct arena *scratch, const struct weights *weights, const struct param *param,
                                 double *to)
{
    const double *weight = vector(scratch, weights, param, 0), *bias = vector(scratch, weights, param, 1);
    const double *mean = vector(scratch, weights, param, 2), *variance = vector(scratch, weights, param, 3);
    for (int64_t i = 0; i < param->cols; i++)
        to[i] = bias[i] - mean[i] * (weight[i] / sqrt(variance[i] + param->eps));
}

static void eval_scaled(struct arena *scratch, const struct weights *weights, const struct param *param, int64_t row,
                        int64_t rows, double *to)
{
    param_eval(weights, param->of[0], row, rows, to);
    const double *scale = vector(scratch, weights, param, 1);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < param->cols; c++)
            *to++ *= param->kind == PARAM_SCALE_ROWS ? scale[row + r] : scale[c];
    }
}

static double dot(const double *a, const double *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

static void eval_matvec(struct arena *scratch, const struct weights *weights, const struct param *param, double *to)
{
    const struct param *matrix = param->of[0];
    const int64_t block = param_block_rows(matrix->cols) < matrix->rows ? param_block_rows(matrix->cols) : matrix->rows;
    const double *factor = vector(scratch, weights, param, 1);
    double *values = ARENA_ARRAY(scratch, double, (size_t)(block * matrix->cols));
    for (int64_t row = 0; row < matrix->rows; row += block) {
        int64_t rows = matrix->rows - row < block ? matrix->rows - row : block;
        param_eval(weights, matrix, row, rows, values);
        for (int64_t r = 0; r < rows; r++)
            to[row + r] = dot(values + r * matrix->cols, factor, matrix->cols);
    }
}

static void eval_pair(struct arena *scratch, const struct weights *weights, const struct param *param, int64_t row,
                      int64_t rows, double *to)
{
    param_eval(weights, param->of[0], row, rows, to);
    const double *second = operand(scratch, weights, param, 1, row, rows);
    for (int64_t i = 0; i < rows * param->cols; i++)
        to[i] = param->kind == PARAM_ADD ? to[i] + second[i] : to[i] * second[i];
}

static void eval_stack(const struct weights *weights, const struct param *param, int64_t row, int64_t rows, double *to)
{
    for (int i = 0; i < param->of_count && rows > 0; i++) {
        const struct param *part = param->of[i];
        int64_t count = part->rows - row < rows ? part->rows - row : rows;
        if (count > 0) {
            param_eval(weights, part, row, count, to);
            to += count * param->cols;
            rows -= count;
            row += count;
        }
        row -= part->rows;
    }
}

static void eval_join(const struct weights *weights, const struct param *param, double *to)
{
    for (int i = 0; i < param->of_count; to += param->of[i++]->cols)
        param_eval(weights, param->of[i], 0, 1, to);
}

void param_eval(const struct weights *weights, const struct param *param, int64_t row, int64_t rows, double *to)
{
    struct arena *scratch = arena_new();
    switch (param->kind) {
    case PARAM_SOURCE:
        tensor_read(weights, param, row, rows, to);
        break;
    case PARAM_ZERO:
        memset(to, 0, (size_t)(rows * param->cols) * sizeof *to);
        break;
    case PARAM_BN_SCALE:
        eval_batchnorm_scale(scratch, weights, param, to);
        break;
    case PARAM_BN_SHIFT:
        eval_batchnorm_shift(scratch, weights, param, to);
        break;
    case PARAM_SCALE_ROWS:
    case PARAM_SCALE_COLUMNS:
        eval_scaled(scratch, weights, param, row, rows, to);
        break;
    case PARAM_MATVEC:
        eval_matvec(scratch, weights, param, to);
        break;
    case PARAM_MULTIPLY:
    case PARAM_ADD:
        eval_pair(scratch, weights, param, row, rows, to);
        break;
    case PARAM_STACK_ROWS:
        eval_stack(weights, param, row, rows, to);
        break;
    case PARAM_JOIN:
        eval_join(weights, param, to);
        break;
    }
    arena_free(scratch);
}
