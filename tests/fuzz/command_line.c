/* Fuzzes the command line of generated programs and the files that it names. The input is a text: a word of the command
 * line a line, then the files a, b, c and w, each behind a line "@" of its own. A first word "two" takes the program of
 * two inputs and outputs.
 *
 * Whatever it is told, the program ends with a status that it documents; a failure says why, in plain text, and has
 * changed no file; success has written what was named as outputs, whole, and nothing else.
 *
 * Every file is in one folder: slashes in words become underscores, but for /dev/full and /dev/null. The clock runs by
 * itself, so that nothing takes long. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "common/fuzz.h"
#include "npy.h"
#include "one.h"
#include "two.h"

enum { MOST_WORDS = 12, MOST_ROWS_DIGITS = 4, FILES = 4 };
static const char file_names[FILES][2] = {"a", "b", "c", "w"};

struct line {
    char *words[MOST_WORDS + 2];
    int count;
    const mlp_model *model;
    const char *files[FILES];       /* what they hold; NULL: there is none */
    size_t sizes[FILES];
};

/* In the place of mlp_seconds, by the linker's --wrap. */
double __wrap_mlp_seconds(void);

double __wrap_mlp_seconds(void)
{
    static double now;
    return now += 0.25;
}

/* ---- The input ---- */

/* What stands before a line "@", or all; *rest is what stands behind, or NULL. */
static size_t part(char *text, size_t size, char **rest, size_t *left)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] != '@' || (i && text[i - 1] != '\n') || i + 1 == size || text[i + 1] != '\n')
            continue;
        *rest = text + i + 2;
        *left = size - i - 2;
        return i;
    }
    *rest = NULL;
    *left = 0;
    return size;
}

static bool is_device(const char *path)
{
    return !strcmp(path, "/dev/full") || !strcmp(path, "/dev/null");
}

/* No word leads out of the folder. */
static void confine(char *word)
{
    const char *equals = strchr(word, '=');
    if (is_device(word) || (equals && is_device(equals + 1)))
        return;
    for (char *c = word; (c = strchr(c, '/'));)
        *c = '_';
}

/* Numbers of rows that memory has room for. */
static void shorten_numbers(char *word)
{
    char *to = word;
    size_t digits = 0;
    for (const char *c = word; *c; c++) {
        digits = *c >= '0' && *c <= '9' ? digits + 1 : 0;
        if (digits <= MOST_ROWS_DIGITS)
            *to++ = *c;
    }
    *to = '\0';
}

static void read_words(struct line *line, char *text, size_t size)
{
    line->words[line->count++] = strdup("program");
    for (char *end; size && line->count <= MOST_WORDS && (end = memchr(text, '\n', size)); text = end + 1) {
        size -= (size_t)(end + 1 - text);
        *end = '\0';
        if (line->count == 1 && line->model == &one_model && !strcmp(text, "two")) {
            line->model = &two_model;
            continue;
        }
        char *word = strdup(text);
        REQUIRE(word);
        confine(word);
        shorten_numbers(word);
        line->words[line->count++] = word;
    }
}

static void read_line(struct line *line, char *text, size_t size)
{
    char *rest;
    size_t left, used = part(text, size, &rest, &left);
    *line = (struct line){.model = &one_model};
    read_words(line, text, used);
    for (int i = 0; rest && i < FILES; i++) {
        line->files[i] = rest;
        line->sizes[i] = part(rest, left, &rest, &left);
    }
}

/* ---- The folder ---- */

static void write_files(const struct line *line)
{
    for (int i = 0; i < FILES; i++) {
        FILE *file = line->files[i] ? fopen(file_names[i], "wb") : NULL;
        if (line->files[i])
            REQUIRE(file && fwrite(line->files[i], 1, line->sizes[i], file) == line->sizes[i] && !fclose(file));
    }
}

static int index_of(const char *name)
{
    for (int i = 0; i < FILES; i++) {
        if (!strcmp(file_names[i], name))
            return i;
    }
    return -1;
}

/* Whether a file of the folder is as it was. */
static bool unchanged(const struct line *line, const char *name)
{
    const int i = index_of(name);
    char bytes[4096];
    size_t size, at = 0;
    bool same = i >= 0 && line->files[i];
    FILE *file = same ? fopen(name, "rb") : NULL;
    while (same && (size = fread(bytes, 1, sizeof bytes, file))) {
        same = size <= line->sizes[i] - at && !memcmp(bytes, line->files[i] + at, size);
        at += size;
    }
    same = same && at == line->sizes[i];
    if (file)
        fclose(file);
    return same;
}

/* Whether the command line can mean the file: by itself, or behind a '='. */
static bool is_named(const struct line *line, const char *name)
{
    const size_t length = strlen(name);
    for (int i = 1; i < line->count; i++) {
        const size_t size = strlen(line->words[i]);
        if (size >= length && !strcmp(line->words[i] + size - length, name) &&
            (size == length || line->words[i][size - length - 1] == '='))
            return true;
    }
    return false;
}

static void check_output(const char *name)
{
    mlp_npy npy;
    REQUIRE(mlp_npy_open(&npy, name) == MLP_NPY_OK);
    mlp_npy_close(&npy);
}

static void check_folder(const struct line *line, int status)
{
    DIR *folder = opendir(".");
    int changed = 0, there = 0;
    REQUIRE(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        const char *name = entry->d_name;
        if (!strcmp(name, ".") || !strcmp(name, ".."))
            continue;
        there += index_of(name) >= 0;
        if (unchanged(line, name))
            continue;
        changed++;
        REQUIRE(status == MLP_EXIT_DONE && is_named(line, name));
        check_output(name);
    }
    closedir(folder);
    REQUIRE((size_t)changed <= line->model->output_count);
    for (int i = 0; i < FILES; i++)
        there -= line->files[i] && !access(file_names[i], F_OK);
    REQUIRE(status == MLP_EXIT_DONE || !there);
}

static int run(const struct line *line, struct fuzz_text *out, struct fuzz_text *error)
{
    fuzz_redirect(out, error);
    const int status = mlp_program(line->count, (char **)line->words, line->model);
    fuzz_restore(out, error);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct line line;
    struct fuzz_text out, error;
    char *text = fuzz_copy(data, size, false);
    fuzz_enter_folder();
    read_line(&line, text, size);
    write_files(&line);
    const int status = run(&line, &out, &error);
    REQUIRE(status >= MLP_EXIT_DONE && status <= MLP_EXIT_FAILED);
    REQUIRE(status == MLP_EXIT_DONE || error.size || out.size);
    REQUIRE(fuzz_is_plain(out.bytes, out.size) && fuzz_is_plain(error.bytes, error.size));
    check_folder(&line, status);
    fuzz_leave_folder();
    fuzz_text_free(&out);
    fuzz_text_free(&error);
    for (int i = 0; i < line.count; i++)
        free(line.words[i]);
    return 0;
}
