/* ONNX Runtime by its C API, with input and output bound. Argument: MODEL.onnx.
 *
 * The Python package has the library, but no header. The API is a table of functions, to whose end alone new versions
 * add: here it is as far as it is needed, with the places of what is not used. */
#include "peer.h"

#include <stdint.h>

typedef struct failure failure;     /* OrtStatus; NULL: none */
typedef void object;                /* any of the API's opaque types */

struct api {
    void *places_0[2];
    const char *(*GetErrorMessage)(const failure *);
    failure *(*CreateEnv)(int severity, const char *name, object **env);
    void *places_4[3];
    failure *(*CreateSession)(object *env, const char *path, const object *options, object **session);
    void *places_8[2];
    failure *(*CreateSessionOptions)(object **options);
    void *places_11[12];
    failure *(*SetSessionGraphOptimizationLevel)(object *options, int level);
    failure *(*SetIntraOpNumThreads)(object *options, int threads);
    failure *(*SetInterOpNumThreads)(object *options, int threads);
    void *places_26[23];
    failure *(*CreateTensorWithDataAsOrtValue)(const object *memory, void *data, size_t bytes, const int64_t *shape,
                                               size_t dimensions, int type, object **value);
    void *places_50[19];
    failure *(*CreateCpuMemoryInfo)(int allocator, int kind, object **memory);
    void *places_70[26];
    void (*ReleaseValue)(object *value);
    void *places_97[36];
    failure *(*RunWithBinding)(object *session, const object *options, const object *binding);
    failure *(*CreateIoBinding)(object *session, object **binding);
    void *places_135[1];
    failure *(*BindInput)(object *binding, const char *name, const object *value);
    failure *(*BindOutput)(object *binding, const char *name, const object *value);
};

struct api_base {
    const struct api *(*GetApi)(uint32_t version);
    const char *(*GetVersionString)(void);
};

const struct api_base *OrtGetApiBase(void);

/* The API's numbers: the table is that of the first version with all of this. */
enum { API_VERSION = 8, WARNINGS = 2, ALL_OPTIMISATIONS = 99, FLOAT = 1, DEVICE_ALLOCATOR = 0, DEFAULT_MEMORY = 0 };

static const struct api *api;
static object *session, *memory, *binding;
static size_t inputs, outputs;

/* What is bound now. */
static struct {
    size_t rows;
    const float *x;
    float *y;
    object *in, *out;
} bound;

#define TRY(call)                              \
    do {                                       \
        failure *failed = api->call;           \
        if (failed)                            \
            return api->GetErrorMessage(failed); \
    } while (0)

const char *peer_open(const struct peer_network *network)
{
    object *env, *options;
    api = OrtGetApiBase()->GetApi(API_VERSION);
    if (!api || !network->arguments[0])
        return "another API, or no model";
    inputs = network->inputs;
    outputs = network->outputs;
    TRY(CreateEnv(WARNINGS, "bench", &env));
    TRY(CreateSessionOptions(&options));
    TRY(SetSessionGraphOptimizationLevel(options, ALL_OPTIMISATIONS));
    TRY(SetIntraOpNumThreads(options, network->threads));
    TRY(SetInterOpNumThreads(options, 1));
    TRY(CreateSession(env, network->arguments[0], options, &session));
    TRY(CreateCpuMemoryInfo(DEVICE_ALLOCATOR, DEFAULT_MEMORY, &memory));
    TRY(CreateIoBinding(session, &binding));
    return NULL;
}

static const char *bind(size_t rows, const float *x, float *y)
{
    const int64_t in[] = {(int64_t)rows, (int64_t)inputs}, out[] = {(int64_t)rows, (int64_t)outputs};
    object *old[] = {bound.in, bound.out};
    TRY(CreateTensorWithDataAsOrtValue(memory, (void *)(uintptr_t)x, rows * inputs * sizeof *x, in, 2, FLOAT,
                                       &bound.in));
    TRY(CreateTensorWithDataAsOrtValue(memory, y, rows * outputs * sizeof *y, out, 2, FLOAT, &bound.out));
    TRY(BindInput(binding, "x", bound.in));
    TRY(BindOutput(binding, "y", bound.out));
    for (int i = 0; i < 2 && old[i]; i++)
        api->ReleaseValue(old[i]);
    bound.rows = rows;
    bound.x = x;
    bound.y = y;
    return NULL;
}

const char *peer_run(size_t rows, const float *x, float *y)
{
    if (rows != bound.rows || x != bound.x || y != bound.y) {
        const char *failed = bind(rows, x, y);
        if (failed)
            return failed;
    }
    TRY(RunWithBinding(session, NULL, binding));
    return NULL;
}
