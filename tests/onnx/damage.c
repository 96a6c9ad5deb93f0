/* Damages models at random and imports them: whatever a file holds, the importer ends in time with a plain answer, and
 * a spec that it writes is one that mlpc takes.
 *
 *     damage MLPC SCRATCH COUNT FILES...       the same files give the same damage */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"

enum { LONGEST = 1 << 20 };
static const double seconds = 60;

struct file {
    unsigned char *bytes;
    size_t size;
};

static uint64_t state = 20240501;

static size_t below(size_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return limit ? (size_t)(state % limit) : 0;
}

static struct file read_file(const char *path)
{
    struct file file = {.bytes = malloc(LONGEST)};
    FILE *in = fopen(path, "rb");
    if (!file.bytes || !in) {
        fprintf(stderr, "damage: cannot read %s\n", path);
        exit(EXIT_FAILURE);
    }
    file.size = fread(file.bytes, 1, LONGEST / 2, in);
    fclose(in);
    return file;
}

static void move(struct file *file, size_t from, size_t to)
{
    memmove(file->bytes + to, file->bytes + from, file->size - from);
    file->size = file->size - from + to;
}

/* One change: a bit, a byte that often means something, bytes gone, twice, or from elsewhere, a size made large. */
static void change(struct file *file)
{
    static const unsigned char telling[] = {0, 1, 2, 7, 8, 10, 11, 16, 0x7f, 0x80, 0xff};
    size_t at = below(file->size), length = 1 + below(16), left = file->size - at;
    if (!file->size)
        return;
    length = length < left ? length : left;
    switch (below(7)) {
    case 0:
        file->bytes[at] ^= (unsigned char)(1u << below(8));
        break;
    case 1:
        file->bytes[at] = telling[below(sizeof telling)];
        break;
    case 2:
        move(file, at + length, at);
        break;
    case 3:
        move(file, at, at + length);
        break;
    case 4:
        memmove(file->bytes + at, file->bytes + below(file->size - length + 1), length);
        break;
    case 5:
        memset(file->bytes + at, 0xff, length < 9 ? length : 9);
        break;
    default:
        file->size = below(8) ? file->size : at;
        break;
    }
}

static void write_file(const struct file *file, const char *path)
{
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(file->bytes, 1, file->size, out) != file->size || fclose(out)) {
        fprintf(stderr, "damage: cannot write %s\n", path);
        exit(EXIT_FAILURE);
    }
}

/* Whether a command ends as it may; else says how it ended. */
static bool runs(const char *what, const char *scratch, char *const *words, int worst, int *status)
{
    struct outcome outcome = command_run(scratch, words, seconds);
    const char *crash = command_crash(&outcome);
    bool good = !crash && outcome.status >= 0 && outcome.status <= worst && (!outcome.status || *outcome.text);
    *status = outcome.status;
    if (!good)
        printf("FAILED %s: %s, status %d\n%.2000s\n", what, crash ? crash : "an unexpected end", outcome.status,
               outcome.text);
    free(outcome.text);
    return good;
}

static bool import(char *mlpc, const char *scratch)
{
    char *words[] = {mlpc, "import", "-o", "out", "--name=m", "damaged.onnx", NULL};
    char *check[] = {mlpc, "--check", "--target=cpu", "out/m.mlp", NULL};
    int status;
    if (!runs("import", scratch, words, 1, &status))
        return false;
    return status || runs("the spec of an import", scratch, check, 0, &status);
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: damage MLPC SCRATCH COUNT FILES...\n");
        return 2;
    }
    char *mlpc = argv[1], path[4096], kept[4096];
    int count = atoi(argv[3]), failures = 0;
    snprintf(path, sizeof path, "%s/damaged.onnx", argv[2]);
    for (int i = 0; i < count; i++) {
        struct file file = read_file(argv[4 + i % (argc - 4)]);
        for (size_t changes = 1 + below(4); changes > 0; changes--)
            change(&file);
        write_file(&file, path);
        if (!import(mlpc, argv[2])) {
            snprintf(kept, sizeof kept, "%s/failed_%d.onnx", argv[2], i);
            write_file(&file, kept);
            printf("the file is %s\n", kept);
            failures++;
        }
        free(file.bytes);
    }
    printf("damage: %d passed, %d failed\n", count - failures, failures);
    return failures != 0;
}
