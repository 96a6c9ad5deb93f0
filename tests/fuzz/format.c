/* Fuzzes the layout of specs: it changes nothing but blanks, says the same network, and has nothing to change in what
 * it made. */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "ast.h"
#include "common/fuzz.h"
#include "diag.h"
#include "format.h"

static const struct diag_options usual = {.color = COLOR_NEVER};

/* The tree that a spec is, or NULL. */
static const struct spec *parse(struct arena *arena, const struct source *source, struct diags **diags)
{
    *diags = diags_new(arena, source, &usual);
    const struct spec *spec = parse_spec(arena, *diags, source);
    return diags_status(*diags) == EXIT_DONE ? spec : NULL;
}

static void dump(const struct spec *spec, struct fuzz_text *text)
{
    fuzz_text_open(text);
    ast_dump(spec, text->to);
    fuzz_text_close(text);
}

static bool is_blank(char byte)
{
    return byte && strchr(" \t\r\n\f\v", byte);
}

/* But for blanks and the mark at the begin of a file, the same bytes. */
static bool same_but_blanks(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t i = a_size >= 3 && !memcmp(a, "\xef\xbb\xbf", 3) ? 3 : 0, j = 0;
    for (;; i++, j++) {
        while (i < a_size && is_blank(a[i]))
            i++;
        while (j < b_size && is_blank(b[j]))
            j++;
        if (i == a_size || j == b_size)
            return i == a_size && j == b_size;
        if (a[i] != b[j])
            return false;
    }
}

static void check_same(const struct spec *a, const struct spec *b)
{
    struct fuzz_text first, second;
    dump(a, &first);
    dump(b, &second);
    REQUIRE(fuzz_text_same(&first, &second));
    fuzz_text_free(&first);
    fuzz_text_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new();
    struct source source = {"loose.mlp", fuzz_copy(data, size, true), size}, good = {.path = "good.mlp"};
    struct diags *diags;
    const struct spec *spec = parse(arena, &source, &diags), *again;
    if (spec) {
        good.text = format_spec(arena, diags, &source, &good.length);
        REQUIRE(same_but_blanks(source.text, size, good.text, good.length));
        REQUIRE((again = parse(arena, &good, &diags)));
        check_same(spec, again);
        size_t length;
        const char *text = format_spec(arena, diags, &good, &length);
        REQUIRE(length == good.length && !memcmp(text, good.text, length));
    }
    arena_free(arena);
    return 0;
}
