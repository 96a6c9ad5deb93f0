/* Fuzzes the compiler: a spec in memory becomes C in memory, or messages, for both targets, and the same bytes for one
 * of them again. common/compiled.c says what must hold of each text.
 *
 * A first line "#: OPTIONS" gives options as the command line has them, for each target. Without it there are weights
 * from a seed. */
#include <stdlib.h>
#include <string.h>

#include "common/compiled.h"

enum { MOST_WORDS = 16 };

/* Options of the first line, cut at its blanks, behind those that argv holds already. The line's copy is the words'. */
static char *read_options(const char *text, const char **argv, int count)
{
    if (strncmp(text, "#:", 2)) {
        argv[count] = "--random-weights=1";
        return NULL;
    }
    char *line = strndup(text + 2, strcspn(text + 2, "\r\n")), *rest = line;
    REQUIRE(line);
    for (char *word; count < MOST_WORDS && (word = strtok_r(rest, " ", &rest));)
        argv[count++] = word;
    return line;
}

/* As printf shows a text that is none; no part of the spec's own. */
static void check_no_null(const struct fuzz_text *text, const char *spec, size_t size)
{
    REQUIRE(memmem(spec, size, "null", 4) || !memmem(text->bytes, text->size, "(null)", 6));
}

static void compile(const char *target, bool again, const char *text, size_t size)
{
    const char *argv[MOST_WORDS + 2] = {"mlpc", target, "none/spec.mlp"};
    char *line = read_options(text, argv, 3);
    struct compiled first, second;
    fuzz_compile(&first, argv, text, size);
    check_no_null(&first.messages, text, size);
    check_no_null(&first.results, text, size);
    if (again) {
        fuzz_compile(&second, argv, text, size);
        REQUIRE(first.status == second.status);
        REQUIRE(fuzz_text_same(&first.messages, &second.messages) && fuzz_text_same(&first.results, &second.results));
        fuzz_compiled_free(&second);
    }
    fuzz_compiled_free(&first);
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy(data, size, true);
    compile("--target=cpu", size % 2, text, size);
    compile("--target=cuda", size % 2 == 0, text, size);
    return 0;
}
