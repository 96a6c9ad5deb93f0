/* Opens, runs and closes a network again and again: what the process holds must not grow by it.
 *
 *     rounds COUNT SECONDS OTHER [WEIGHTS]
 *
 * COUNT rounds, or fewer where they take longer than SECONDS; the first tenth counts for nothing. In each, calls fail
 * as well: OTHER is a file that holds no weights of this network. WEIGHTS: a file that does. Compile with
 * -DMODEL=NAME_model, and -DCUDA where it runs on a GPU, which nobody else may use at that time. */
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mlp_runtime.h"

extern const mlp_model MODEL;

/* ---- What a process holds ---- */

enum { HEAP, RESIDENT, FILES, THREADS, MAPPINGS, DEVICE, KINDS };
static const char *const names[] = {"bytes of the heap", "bytes in memory", "open files", "threads", "mappings",
                                    "bytes of the device"};
/* What cached stacks of threads, pages and the pools of a driver may make of nothing. */
#ifdef CUDA
static const long slack[KINDS] = {[HEAP] = 32 << 10, [RESIDENT] = 4 << 20, [MAPPINGS] = 4, [DEVICE] = 2 << 20};
#else
static const long slack[KINDS] = {[HEAP] = 4096, [RESIDENT] = 256 << 10, [MAPPINGS] = 4};
#endif

#ifdef CUDA
#include <cuda_runtime_api.h>

static long device_bytes(void)
{
    size_t left = 0, all = 0;
    return cudaMemGetInfo(&left, &all) == cudaSuccess ? (long)(all - left) : -1;
}
#else
static long device_bytes(void)
{
    return 0;
}
#endif

static long entries(const char *folder)
{
    DIR *directory = opendir(folder);
    long count = 0;
    while (directory && readdir(directory))
        count++;
    if (directory)
        closedir(directory);
    return count;
}

static long lines(const char *path)
{
    FILE *file = fopen(path, "r");
    long count = 0;
    for (int c; file && (c = getc(file)) != EOF;)
        count += c == '\n';
    if (file)
        fclose(file);
    return count;
}

static long resident(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = -1;
    if (!file || fscanf(file, "%*d %ld", &pages) != 1)
        pages = -1;
    if (file)
        fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static void look(long held[KINDS])
{
    struct mallinfo2 heap;
    held[FILES] = entries("/proc/self/fd");
    held[THREADS] = entries("/proc/self/task");
    held[MAPPINGS] = lines("/proc/self/maps");
    held[RESIDENT] = resident();
    held[DEVICE] = device_bytes();
    heap = mallinfo2();
    held[HEAP] = (long)(heap.uordblks + heap.hblkhd);
}

/* A thread that was joined can be listed for a moment. */
static void look_at_rest(long held[KINDS])
{
    look(held);
    for (int i = 0; i < 1000 && held[THREADS] > 3; i++) {
        usleep(1000);
        look(held);
    }
}

/* ---- Rounds ---- */

static int broken;

static void expect(mlp_status status, mlp_status expected, const char *what)
{
    if (status == expected)
        return;
    if (!broken)
        printf("%s: %s, not %s (%s)\n", what, mlp_status_text(status), mlp_status_text(expected), MODEL.error());
    broken = 1;
}

struct rows {
    size_t count;
    void *in[64], *out[64];
};

static size_t bytes_of(const mlp_port *port, size_t rows)
{
    return rows * port->width * (port->dtype == MLP_F32 ? 4 : 2);
}

static struct rows make_rows(size_t count)
{
    struct rows rows = {.count = count};
    for (size_t i = 0; i < MODEL.input_count; i++)
        rows.in[i] = calloc(1, bytes_of(&MODEL.inputs[i], count));
    for (size_t i = 0; i < MODEL.output_count; i++)
        rows.out[i] = calloc(1, bytes_of(&MODEL.outputs[i], count));
    return rows;
}

static void run(const struct rows *rows)
{
    expect(MODEL.run(rows->count, (const void *const *)rows->in, rows->out), MLP_OK, "run");
}

/* Inits that fail, for their weights or after these were read; then one that does not, with the weights from a file
 * every other time. */
static void one_round(int number, const struct rows *rows, const char *other, const char *weights)
{
    mlp_options bad = {.weights = other}, good = {.weights = !MODEL.weights_embedded || number % 2 ? weights : NULL};
    expect(MODEL.init(&bad), MLP_WEIGHTS_MISMATCH, "init with weights of another network");
    if (MODEL.target == MLP_CPU) {
        bad = (mlp_options){.weights = weights, .threads = (int)MODEL.threads + 1};
        expect(MODEL.init(&bad), MLP_BAD_ARGUMENT, "init with too many threads");
    }
    MODEL.close();
    expect(MODEL.init(&good), MLP_OK, "init");
    expect(MODEL.init(&good), MLP_BAD_ARGUMENT, "init twice");
    run(rows);
    expect(MODEL.load_weights(other), MLP_WEIGHTS_MISMATCH, "load_weights of another network");
    expect(MODEL.load_weights("/nowhere"), MLP_WEIGHTS_UNREADABLE, "load_weights of no file");
    if (weights) {
        expect(MODEL.load_weights(weights), MLP_OK, "load_weights");
        run(rows);
    }
    MODEL.close();
    MODEL.close();
}

static int report(const long before[KINDS], const long after[KINDS])
{
    int grown = 0;
    for (int i = 0; i < KINDS; i++) {
        if (after[i] - before[i] <= slack[i])
            continue;
        printf("not ok %s: %ld before, %ld after\n", names[i], before[i], after[i]);
        grown = 1;
    }
    return grown;
}

int main(int argc, char **argv)
{
    long before[KINDS], after[KINDS];
    if (argc != 4 && argc != 5)
        return 2;
    const int count = atoi(argv[1]), seconds = atoi(argv[2]);
    const time_t began = time(NULL);
    const struct rows rows = make_rows(2 * MODEL.chunk + 1);
    int round = 0, begun = 0;
    for (; !broken && round < count && time(NULL) - began < seconds; round++) {
        if (round == count / 10 || (!begun && time(NULL) - began > seconds / 10)) {
            look_at_rest(before);
            begun = round;
        }
        one_round(round, &rows, argv[3], argc > 4 ? argv[4] : NULL);
    }
    look_at_rest(after);
    if (broken || !begun) {
        printf("not ok %s: stopped after %d rounds\n", MODEL.name, round);
        return 1;
    }
    if (report(before, after))
        return 1;
    printf("ok %s: what %d rounds hold, and %d:", MODEL.name, begun, round);
    for (int i = 0; i < KINDS; i++)
        printf(" %s %ld, %ld%s", names[i], before[i], after[i], i + 1 < KINDS ? ";" : "\n");
    return 0;
}
