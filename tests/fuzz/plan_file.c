/* Fuzzes the reader of tuned plans and forms. What it reads must print as a text that reads as the same entries.
 *
 * A wrong checksum would stop every text that a fuzzer makes. Where that is all that is wrong with an entry, the one
 * that the reader asks for is put in its place, and the text is read again. */
#include "plan_file.h"

#include <stdlib.h>
#include <string.h>

#include "common/fuzz.h"

static char *line_at(char *text, size_t size, size_t line)
{
    char *at = text;
    while (line-- > 1) {
        at = memchr(at, '\n', (size_t)(text + size - at));
        REQUIRE(at);
        at++;
    }
    return at;
}

/* Whether `error` is that a checksum is not what the entry gives, which it then is. */
static int repair(char *text, size_t size, const mlp_plan_error *error)
{
    static const char says[] = "the entry's checksum is ", gives[] = ", its text gives ";
    if (strncmp(error->text, says, sizeof says - 1))
        return 0;
    const char *said = error->text + sizeof says - 1, *found = said + 16 + sizeof gives - 1;
    char *line = line_at(text, size, error->line), *checksum = memmem(line, (size_t)(text + size - line), said, 16);
    REQUIRE(checksum && !strncmp(said + 16, gives, sizeof gives - 1) && strspn(found, "0123456789abcdef") == 16);
    memcpy(checksum, found, 16);
    return 1;
}

static void check_error(const mlp_plan_error *error, const mlp_plan_file *file)
{
    REQUIRE(error->line > 0 && error->text[0] && strlen(error->text) < sizeof error->text - 1);
    REQUIRE(!file->entries && !file->count && !file->forms && !file->form_count);
}

/* Adds all entries to another file, from the last, by turns of either kind. */
static char *print_and_add(const mlp_plan_file *file, size_t *length)
{
    mlp_plan_file added = {.entries = NULL};
    size_t added_length = 0, products = file->count, networks = file->form_count;
    char *text = mlp_plan_file_print(file, length), *same;
    while (products || networks) {
        if (networks)
            REQUIRE(mlp_plan_file_add_form(&added, &file->forms[--networks]));
        if (products)
            REQUIRE(mlp_plan_file_add(&added, &file->entries[--products]));
    }
    same = mlp_plan_file_print(&added, &added_length);
    REQUIRE(text && same && *length == added_length && !memcmp(text, same, added_length));
    mlp_plan_file_free(&added);
    free(same);
    return text;
}

static void print_and_read(const mlp_plan_file *file)
{
    mlp_plan_file again;
    mlp_plan_error error;
    size_t length = 0, second_length = 0;
    char *text = print_and_add(file, &length), *second;
    REQUIRE(mlp_plan_file_parse(text, length, &again, &error));
    second = mlp_plan_file_print(&again, &second_length);
    REQUIRE(again.count == file->count && again.form_count == file->form_count);
    REQUIRE(second && second_length == length && !memcmp(second, text, length));
    mlp_plan_file_free(&again);
    free(text);
    free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mlp_plan_file file;
    mlp_plan_error error;
    char *text = fuzz_copy(data, size, false);
    int good = mlp_plan_file_parse(text, size, &file, &error);
    for (int repairs = 0; !good && repairs < 100 && repair(text, size, &error); repairs++) {
        mlp_plan_file_free(&file);
        good = mlp_plan_file_parse(text, size, &file, &error);
    }
    if (good)
        print_and_read(&file);
    else
        check_error(&error, &file);
    mlp_plan_file_free(&file);
    return 0;
}
