/* A network by hand: sgemm (one row: sgemv) of OpenBLAS for each layer, and a loop for bias and activation, which gcc
 * turns into vector code with libmvec's functions under -O3 -march=native -ffast-math.
 *
 *     arguments: LAYOUT WEIGHTS LAYER...
 *
 * LAYOUT: "rows", weights as [out, in], as PyTorch has them; "columns", [in, out]. WEIGHTS: floats, of each layer the
 * weight as [out, in] and the bias; then scale and shift of a norm, if there is one. LAYER: "OUT:ACTIVATION"; the last
 * may be "norm:EPS": layer norm of the sum of the input and the layers' result. */
#include "peer.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The package's library has names of its own. The numbers are those of CBLAS. */
#define NAMED(name) scipy_##name
enum { ROW_MAJOR = 101, AS_IT_IS = 111, TRANSPOSED = 112 };

void NAMED(openblas_set_num_threads)(int threads);
void NAMED(cblas_sgemm)(int order, int transposed_a, int transposed_b, int m, int n, int k, float alpha, const float *a,
                        int lda, const float *b, int ldb, float beta, float *c, int ldc);
void NAMED(cblas_sgemv)(int order, int transposed, int m, int n, float alpha, const float *a, int lda, const float *x,
                        int step_x, float beta, float *y, int step_y);

typedef void activation(float *row, const float *bias, size_t width);

struct layer {
    size_t in, out;
    float *weight, *bias;
    activation *act;
};

enum { MOST_LAYERS = 16 };

static struct layer layers[MOST_LAYERS];
static size_t layer_count, widest;
static int columns;
static const float *scale, *shift;  /* of the norm, or NULL */
static float norm_eps;
static float *values[2];            /* between layers, in turn */
static size_t values_rows;

/* ---- Bias and activation ---- */

#define ACTIVATION(name, expression)                                                 \
    static void name(float *restrict row, const float *restrict bias, size_t width)  \
    {                                                                                \
        for (size_t i = 0; i < width; i++) {                                         \
            float v = row[i] + bias[i];                                              \
            row[i] = (expression);                                                   \
        }                                                                            \
    }

ACTIVATION(act_none, v)
ACTIVATION(act_relu, v > 0 ? v : 0)
ACTIVATION(act_tanh, tanhf(v))
ACTIVATION(act_sigmoid, 1 / (1 + expf(-v)))
ACTIVATION(act_gelu, 0.5F * v * (1 + erff(v * 0.70710678F)))

static void act_softmax(float *restrict row, const float *restrict bias, size_t width)
{
    float most = -FLT_MAX, sum = 0;
    for (size_t i = 0; i < width; i++) {
        row[i] += bias[i];
        most = row[i] > most ? row[i] : most;
    }
    for (size_t i = 0; i < width; i++)
        sum += row[i] = expf(row[i] - most);
    for (size_t i = 0; i < width; i++)
        row[i] /= sum;
}

static const struct {
    const char *name;
    activation *act;
} activations[] = {{"", act_none},       {"relu", act_relu}, {"tanh", act_tanh}, {"sigmoid", act_sigmoid},
                   {"gelu", act_gelu}, {"softmax", act_softmax}};

static activation *find_activation(const char *name)
{
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++) {
        if (!strcmp(activations[i].name, name))
            return activations[i].act;
    }
    return NULL;
}

/* ---- The network ---- */

static void multiply(const struct layer *layer, size_t rows, const float *x, float *y)
{
    int m = (int)rows, n = (int)layer->out, k = (int)layer->in;
    if (rows == 1 && columns)
        NAMED(cblas_sgemv)(ROW_MAJOR, TRANSPOSED, k, n, 1, layer->weight, n, x, 1, 0, y, 1);
    else if (rows == 1)
        NAMED(cblas_sgemv)(ROW_MAJOR, AS_IT_IS, n, k, 1, layer->weight, k, x, 1, 0, y, 1);
    else
        NAMED(cblas_sgemm)(ROW_MAJOR, AS_IT_IS, columns ? AS_IT_IS : TRANSPOSED, m, n, k, 1, x, k, layer->weight,
                           columns ? n : k, 0, y, n);
}

static void norm_row(float *restrict y, const float *restrict x, size_t width)
{
    float mean = 0, variance = 0;
    for (size_t i = 0; i < width; i++)
        mean += y[i] += x[i];
    mean /= (float)width;
    for (size_t i = 0; i < width; i++)
        variance += (y[i] - mean) * (y[i] - mean);
    float factor = 1 / sqrtf(variance / (float)width + norm_eps);
    for (size_t i = 0; i < width; i++)
        y[i] = (y[i] - mean) * factor * scale[i] + shift[i];
}

static int make_room(size_t rows)
{
    for (int i = 0; i < 2 && rows > values_rows; i++) {
        free(values[i]);
        values[i] = peer_floats(rows * widest);
        if (!values[i])
            return -1;
    }
    values_rows = rows > values_rows ? rows : values_rows;
    return 0;
}

const char *peer_run(size_t rows, const float *x, float *y)
{
    const float *from = x;
    if (make_room(rows))
        return "no memory";
    for (size_t i = 0; i < layer_count; i++) {
        const struct layer *layer = &layers[i];
        float *to = i + 1 < layer_count ? values[i % 2] : y;
        multiply(layer, rows, from, to);
        for (size_t r = 0; r < rows; r++)
            layer->act(to + r * layer->out, layer->bias, layer->out);
        from = to;
    }
    size_t width = layers[layer_count - 1].out;
    for (size_t r = 0; scale && r < rows; r++)
        norm_row(y + r * width, x + r * width, width);
    return NULL;
}

/* ---- Weights ---- */

static const float *rest;           /* of the weights' file */

static const float *take(size_t count)
{
    const float *part = rest;
    rest += count;
    return part;
}

static int read_layer(const char *text, size_t in)
{
    struct layer *layer = &layers[layer_count++];
    char *end;
    layer->in = in;
    layer->out = strtoul(text, &end, 10);
    layer->act = *end == ':' ? find_activation(end + 1) : NULL;
    layer->weight = peer_floats(in * layer->out);
    layer->bias = peer_floats(layer->out);
    if (!layer->act || !layer->weight || !layer->bias)
        return -1;
    const float *weight = take(in * layer->out);
    for (size_t o = 0; o < layer->out; o++) {
        for (size_t i = 0; i < in; i++)
            layer->weight[columns ? i * layer->out + o : o * in + i] = weight[o * in + i];
    }
    memcpy(layer->bias, take(layer->out), layer->out * sizeof(float));
    widest = layer->out > widest ? layer->out : widest;
    return 0;
}

/* How many floats the file holds. */
static size_t count_floats(char **texts, size_t in)
{
    size_t count = 0;
    for (; *texts; texts++) {
        size_t out = strtoul(*texts, NULL, 10);
        count += out ? (in + 1) * out : 2 * in;
        in = out ? out : in;
    }
    return count;
}

const char *peer_open(const struct peer_network *network)
{
    char **texts = network->arguments;
    size_t in = network->inputs;
    if (!texts[0] || !texts[1] || !texts[2])
        return "arguments: LAYOUT WEIGHTS LAYER...";
    columns = !strcmp(*texts++, "columns");
    const char *path = *texts++;
    if (!(rest = peer_read(path, count_floats(texts, in))))
        return "cannot read the weights";
    for (; *texts && layer_count < MOST_LAYERS; in = layers[layer_count - 1].out, texts++) {
        if (sscanf(*texts, "norm:%f", &norm_eps) == 1) {
            scale = take(in);
            shift = take(in);
        } else if (read_layer(*texts, in)) {
            return "cannot make a layer";
        }
    }
    NAMED(openblas_set_num_threads)(network->threads);
    return NULL;
}
