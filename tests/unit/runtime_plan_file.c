/* Files of tuned plans and forms: the exact text, both ways; order; every refusal with its line; damage of every byte;
 * sizes that would show quadratic time. Texts are written here, by hand or by `put_entry` and `put_network` with a
 * checksum of their own. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "plan_file.h"

/* The checksums come from another program than the one under test. */
static const char two_devices[] =
    "# Plans of matrix products, written by a program's --tune and compiled in by mlpc --plan.\n"
    "# Comments are not kept, and an entry that was edited is refused.\n"
    "mlpc plans 1\n"
    "\n"
    "device \"NVIDIA H100 80GB HBM3\" multiprocessors=132 cublaslt=12.8.5\n"
    "\n"
    "product m=512 n=64 k=784 a=f16/784 b=f16/784 d=f16/512 compute=f32 epilogue=relu_bias bias=f16\n"
    "    # 14.0 % less time than the first choice, 1.9 % less than the best that the heuristic lists\n"
    "    epilogue fused\n"
    "    algorithm id=66 tile=602 stages=35 split_k=1 reduction=0 swizzle=0 custom=4 inner_shape=0 cluster=2\n"
    "    workspace 0\n"
    "    bytes 0000000000000042 0000000023000602 0123456789abcdef 0000000000000000 0000000000000000 "
    "ffffffffffffffff 0000000000000000 0000000000000001\n"
    "    microseconds warm=3.020 cold=4.900 first_warm=3.510 first_cold=5.310 listed_warm=3.080 "
    "listed_cold=4.950\n"
    "    checksum 3c94b1db1d8362a1\n"
    "\n"
    "device \"NVIDIA H200\" multiprocessors=132 cublaslt=13.1.0\n"
    "\n"
    "product m=512 n=64 k=784\n"
    "    # the first choice stays\n"
    "    epilogue apart\n"
    "    algorithm id=2147483647 tile=4294967295 stages=1 split_k=16 reduction=2 swizzle=1 custom=0 "
    "inner_shape=3 cluster=9\n"
    "    workspace 18446744073709551615\n"
    "    bytes 0000000000000001 0000000000000002 0000000000000003 0000000000000004 0000000000000005 "
    "0000000000000006 0000000000000007 0000000000000008\n"
    "    microseconds warm=12.001 cold=20.000 first_warm=12.001 first_cold=20.000 listed_warm=11.500 "
    "listed_cold=0.000\n"
    "    checksum 196ebf960c55ee96\n"
    "\n"
    "product m=512 n=128 k=784\n"
    "    # 25.0 % more time than the first choice, 100.0 % more than the best that the heuristic lists\n"
    "    epilogue fused\n"
    "    algorithm id=0 tile=0 stages=0 split_k=0 reduction=0 swizzle=0 custom=0 inner_shape=0 cluster=0\n"
    "    workspace 33554432\n"
    "    bytes 0000000000000000 0000000000000000 0000000000000000 0000000000000000 0000000000000000 "
    "0000000000000000 0000000000000000 0000000000000000\n"
    "    microseconds warm=999999999.998 cold=0.000 first_warm=799999999.998 first_cold=0.001 "
    "listed_warm=499999999.999 listed_cold=999999999.999\n"
    "    checksum 298a085cb7a569e5\n";

static const mlp_plan_entry entries_of_two_devices[] = {
    {.device = "NVIDIA H100 80GB HBM3",
     .multiprocessors = 132,
     .library = 120805,
     .product = "m=512 n=64 k=784 a=f16/784 b=f16/784 d=f16/512 compute=f32 epilogue=relu_bias bias=f16",
     .algorithm = {66, 602, 35, 1, 0, 0, 4, 0, 2},
     .bytes = {0x42, 0x23000602, 0x0123456789abcdef, 0, 0, UINT64_MAX, 0, 1},
     .times = {3.02, 4.9, 3.51, 5.31, 3.08, 4.95}},
    {.device = "NVIDIA H200",
     .multiprocessors = 132,
     .library = 130100,
     .product = "m=512 n=64 k=784",
     .apart = 1,
     .algorithm = {2147483647, 4294967295u, 1, 16, 2, 1, 0, 3, 9},
     .bytes = {1, 2, 3, 4, 5, 6, 7, 8},
     .workspace = UINT64_MAX,
     .times = {12.001, 20, 12.001, 20, 11.5, 0}},
    {.device = "NVIDIA H200",
     .multiprocessors = 132,
     .library = 130100,
     .product = "m=512 n=128 k=784",
     .workspace = 33554432,
     .times = {999999999.998, 0, 799999999.998, 0.001, 499999999.999, 999999999.999}},
};

/* Sections of either kind of entry alone and of both; one needs no library. */
static const char networks[] =
    "# Plans of matrix products, written by a program's --tune and compiled in by mlpc --plan.\n"
    "# Comments are not kept, and an entry that was edited is refused.\n"
    "mlpc plans 1\n"
    "\n"
    "device \"GeForce\" multiprocessors=82 cublaslt=0.0.0\n"
    "\n"
    "network digits rows=1 layout=00000000000000ff\n"
    "    # steps takes 10.0 % less time than few\n"
    "    form steps\n"
    "    microseconds steps=9.000 rows=0.000 few=10.000\n"
    "    checksum 0ddc106521b1578f\n"
    "\n"
    "device \"NVIDIA H200\" multiprocessors=132 cublaslt=0.0.0\n"
    "\n"
    "network digits rows=64\n"
    "    form few\n"
    "    microseconds steps=0.000 rows=0.000 few=2.500\n"
    "    checksum 0310c70fea624135\n"
    "\n"
    "device \"NVIDIA H200\" multiprocessors=132 cublaslt=13.1.0\n"
    "\n"
    "network policy rows=1 layout=0123456789abcdef\n"
    "    # few takes 29.2 % less time than steps\n"
    "    form few\n"
    "    microseconds steps=8.140 rows=0.000 few=5.760\n"
    "    checksum 86379b49ee531f86\n"
    "\n"
    "network policy rows=4096 layout=0123456789abcdef\n"
    "    # rows takes 50.0 % less time than steps, 75.0 % less than few\n"
    "    form rows\n"
    "    microseconds steps=499999999.998 rows=249999999.999 few=999999999.996\n"
    "    checksum b12af9960f0e5ef5\n"
    "\n"
    "product m=512 n=64 k=784\n"
    "    # the first choice stays\n"
    "    epilogue apart\n"
    "    algorithm id=2147483647 tile=4294967295 stages=1 split_k=16 reduction=2 swizzle=1 custom=0 "
    "inner_shape=3 cluster=9\n"
    "    workspace 18446744073709551615\n"
    "    bytes 0000000000000001 0000000000000002 0000000000000003 0000000000000004 0000000000000005 "
    "0000000000000006 0000000000000007 0000000000000008\n"
    "    microseconds warm=12.001 cold=20.000 first_warm=12.001 first_cold=20.000 listed_warm=11.500 "
    "listed_cold=0.000\n"
    "    checksum 196ebf960c55ee96\n"
    "\n"
    "device \"NVIDIA H200\" multiprocessors=132 cublaslt=13.2.0\n"
    "\n"
    "network policy rows=1 layout=0123456789abcdef\n"
    "    form steps\n"
    "    microseconds steps=0.000 rows=3.000 few=0.000\n"
    "    checksum b883ce172f882a94\n";

static const mlp_form_entry forms_of_networks[] = {
    {"GeForce", 82, 0, "digits rows=1 layout=00000000000000ff", MLP_FORM_STEPS, {9, 0, 10}},
    {"NVIDIA H200", 132, 0, "digits rows=64", MLP_FORM_FEW, {0, 0, 2.5}},
    {"NVIDIA H200", 132, 130100, "policy rows=1 layout=0123456789abcdef", MLP_FORM_FEW, {8.14, 0, 5.76}},
    {"NVIDIA H200", 132, 130100, "policy rows=4096 layout=0123456789abcdef", MLP_FORM_ROWS,
     {499999999.998, 249999999.999, 999999999.996}},
    {"NVIDIA H200", 132, 130200, "policy rows=1 layout=0123456789abcdef", MLP_FORM_STEPS, {0, 3, 0}},
};
enum { FORMS = sizeof forms_of_networks / sizeof *forms_of_networks };

/* What the texts above say. */
static const struct example {
    const char *text;
    const mlp_plan_entry *entries;
    size_t count;
    const mlp_form_entry *forms;
    size_t form_count;
} examples[] = {
    {two_devices, entries_of_two_devices, 3, NULL, 0},
    {networks, &entries_of_two_devices[1], 1, forms_of_networks, FORMS},
};
enum { EXAMPLES = sizeof examples / sizeof *examples };

/* ---- Help ---- */

/* Parses a copy that ends where its block ends, so that a sanitizer sees every byte read too far. */
static int parse(const char *text, size_t length, mlp_plan_file *file, mlp_plan_error *error)
{
    char *exact = malloc(length ? length : 1);
    memcpy(exact, text, length);
    int good = mlp_plan_file_parse(exact, length, file, error);
    free(exact);
    return good;
}

static void parse_good(const char *text, size_t length, mlp_plan_file *file)
{
    mlp_plan_error error;
    if (!parse(text, length, file, &error))
        fail_msg("line %zu: %s", error.line, error.text);
}

/* Refused with a reason, and nothing is left of what was read before. */
static mlp_plan_error parse_wrong(const char *text, size_t length)
{
    mlp_plan_file file;
    mlp_plan_error error;
    if (parse(text, length, &file, &error))
        fail_msg("read without an error: %.300s", text);
    assert_true(error.line > 0 && error.text[0]);
    for (const char *c = error.text; *c; c++)
        assert_true(*c >= ' ' && *c < 127);
    assert_true(!file.entries && !file.count && !file.forms && !file.form_count);
    mlp_plan_file_free(&file);
    return error;
}

static void check_refusal(const char *text, size_t length, size_t line, const char *reason)
{
    mlp_plan_error error = parse_wrong(text, length);
    if (error.line != line || !strstr(error.text, reason))
        fail_msg("line %zu: %s\nwanted line %zu: %s", error.line, error.text, line, reason);
}

static int same_entry(const mlp_plan_entry *a, const mlp_plan_entry *b)
{
    return !strcmp(a->device, b->device) && a->multiprocessors == b->multiprocessors && a->library == b->library &&
           !strcmp(a->product, b->product) && a->apart == b->apart &&
           !memcmp(&a->algorithm, &b->algorithm, sizeof a->algorithm) &&
           !memcmp(a->bytes, b->bytes, sizeof a->bytes) && a->workspace == b->workspace &&
           a->times.warm == b->times.warm && a->times.cold == b->times.cold &&
           a->times.first_warm == b->times.first_warm && a->times.first_cold == b->times.first_cold &&
           a->times.listed_warm == b->times.listed_warm && a->times.listed_cold == b->times.listed_cold;
}

static int same_entries(const mlp_plan_entry *a, const mlp_plan_entry *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!same_entry(&a[i], &b[i]))
            return 0;
    return 1;
}

static int same_form(const mlp_form_entry *a, const mlp_form_entry *b)
{
    return !strcmp(a->device, b->device) && a->multiprocessors == b->multiprocessors && a->library == b->library &&
           !strcmp(a->network, b->network) && a->form == b->form && a->microseconds[0] == b->microseconds[0] &&
           a->microseconds[1] == b->microseconds[1] && a->microseconds[2] == b->microseconds[2];
}

/* Whether the file holds the first entries of the example and no more. */
static int begins_as(const mlp_plan_file *file, const struct example *example)
{
    if (file->count > example->count || file->form_count > example->form_count)
        return 0;
    for (size_t i = 0; i < file->form_count; i++)
        if (!same_form(&file->forms[i], &example->forms[i]))
            return 0;
    return same_entries(file->entries, example->entries, file->count);
}

static int same_as(const mlp_plan_file *file, const struct example *example)
{
    return file->count == example->count && file->form_count == example->form_count && begins_as(file, example);
}

static void check_print(const mlp_plan_file *file, const char *expected)
{
    size_t length = 0;
    char *text = mlp_plan_file_print(file, &length);
    assert_non_null(text);
    assert_int_equal(text[length], 0);
    assert_string_equal(text, expected);
    assert_int_equal(length, strlen(expected));
    free(text);
}

/* `text` with one occurrence of `from` replaced; for the caller to free. */
static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    if (!at)
        fail_msg("'%s' is not in the text", from);
    char *result = malloc(strlen(text) + strlen(to) + 1);
    memcpy(result, text, (size_t)(at - text));
    strcpy(result + (at - text), to);
    strcat(result, at + strlen(from));
    return result;
}

static uint64_t fnv(uint64_t hash, const char *text)
{
    for (; *text; text++) {
        hash ^= (uint64_t)(unsigned char)*text;
        hash *= 1099511628211u;
    }
    return hash;
}

static const char body[] =
    "    epilogue fused\n"
    "    algorithm id=1 tile=2 stages=3 split_k=4 reduction=5 swizzle=6 custom=7 inner_shape=8 cluster=9\n"
    "    workspace 10\n"
    "    bytes 0000000000000001 0000000000000000 0000000000000000 0000000000000000 "
    "0000000000000000 0000000000000000 0000000000000000 0000000000000000\n"
    "    microseconds warm=1.000 cold=2.000 first_warm=3.000 first_cold=4.000 listed_warm=5.000 "
    "listed_cold=6.000\n";
static const char form_body[] =
    "    form rows\n"
    "    microseconds steps=3.000 rows=2.000 few=4.000\n";

/* A text under construction, and the hash of the device line that it is at. */
struct text {
    FILE *stream;
    char *bytes;
    size_t length;
    uint64_t device;
};

static void text_begin(struct text *text)
{
    *text = (struct text){.bytes = NULL};
    text->stream = open_memstream(&text->bytes, &text->length);
    assert_non_null(text->stream);
    fputs("mlpc plans 1\n", text->stream);
}

static void put_device(struct text *text, const char *name, const char *rest)
{
    text->device = fnv(fnv(fnv(14695981039346656037u, "device \""), name), rest);
    fprintf(text->stream, "device \"%s%s", name, rest);
}

static void put_entry(struct text *text, const char *product)
{
    uint64_t hash = fnv(fnv(fnv(fnv(text->device, "product "), product), "\n"), body);
    fprintf(text->stream, "product %s\n%s    checksum %016jx\n", product, body, (uintmax_t)hash);
}

static void put_network(struct text *text, const char *network)
{
    uint64_t hash = fnv(fnv(fnv(fnv(text->device, "network "), network), "\n"), form_body);
    fprintf(text->stream, "network %s\n%s    checksum %016jx\n", network, form_body, (uintmax_t)hash);
}

static void text_end(struct text *text)
{
    assert_int_equal(fclose(text->stream), 0);
}

static const char h200[] = "\" multiprocessors=132 cublaslt=13.1.0\n";

/* ---- The text ---- */

static void exact_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < EXAMPLES; i++) {
        mlp_plan_file file;
        parse_good(examples[i].text, strlen(examples[i].text), &file);
        assert_true(same_as(&file, &examples[i]));
        check_print(&file, examples[i].text);
        mlp_plan_file_free(&file);
        assert_true(!file.entries && !file.count && !file.forms && !file.form_count);
    }
}

/* Files from before listed_cold was kept, with the checksums that they had; and entries of both ages in one file. */
static void without_listed_cold(void **state)
{
    (void)state;
    static const struct {
        const char *time, *checksum, *old_checksum;
    } table[] = {
        {" listed_cold=4.950", "3c94b1db1d8362a1", "cf11974a80db5d5a"},
        {" listed_cold=0.000", "196ebf960c55ee96", "f5f34c6f4ea3bcab"},
        {" listed_cold=999999999.999", "298a085cb7a569e5", "ac2c7ae50208e38e"},
    };
    for (unsigned old = 0; old < 8; old++) {
        mlp_plan_file file;
        char *text = strdup(two_devices);
        for (size_t i = 0; i < 3; i++) {
            if (!(old >> i & 1))
                continue;
            char *shorter = replaced(text, table[i].time, i == 1 ? "  " : "");
            free(text);
            text = replaced(shorter, table[i].checksum, table[i].old_checksum);
            free(shorter);
        }
        parse_good(text, strlen(text), &file);
        assert_int_equal(file.count, 3);
        for (size_t i = 0; i < 3; i++) {
            mlp_plan_entry expected = entries_of_two_devices[i];
            expected.times.listed_cold = old >> i & 1 ? 0 : expected.times.listed_cold;
            assert_true(same_entry(&file.entries[i], &expected));
        }
        for (size_t i = 0; i < 3; i++)
            assert_true(mlp_plan_file_add(&file, &entries_of_two_devices[i]));
        check_print(&file, two_devices);
        mlp_plan_file_free(&file);
        free(text);
    }
}

/* What is read from an old file is written as a new one says it. */
static void listed_cold_is_written(void **state)
{
    (void)state;
    mlp_plan_file file;
    char *shorter = replaced(two_devices, " listed_cold=0.000", "");
    char *old = replaced(shorter, "196ebf960c55ee96", "f5f34c6f4ea3bcab");
    assert_int_equal(strlen(old), strlen(two_devices) - strlen(" listed_cold=0.000"));
    parse_good(old, strlen(old), &file);
    check_print(&file, two_devices);
    mlp_plan_file_free(&file);
    free(old), free(shorter);
}

static void no_entries(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "mlpc plans 1", "mlpc plans 1\n", "\n \n# x\n  # y\nmlpc plans 1\r\n\r\n", "  mlpc  plans   1  \r",
        "mlpc plans 1\ndevice \"\" multiprocessors=0 cublaslt=0.0.0\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        mlp_plan_file file;
        parse_good(texts[i], strlen(texts[i]), &file);
        assert_int_equal(file.count, 0);
        check_print(&file, "# Plans of matrix products, written by a program's --tune and compiled in by mlpc --plan.\n"
                           "# Comments are not kept, and an entry that was edited is refused.\n"
                           "mlpc plans 1\n");
        mlp_plan_file_free(&file);
    }
}

/* Other ends of lines, none behind the last one, other spaces and comments: the same entries. */
static void freedom(void **state)
{
    (void)state;
    mlp_plan_file file;
    for (size_t i = 0; i < EXAMPLES; i++) {
        struct text text = {.bytes = NULL};
        text.stream = open_memstream(&text.bytes, &text.length);
        for (const char *c = examples[i].text; *c; c++) {
            if (*c == '\n')
                fputs("  \r\n   # a comment \xc3\xa9\r\n", text.stream);
            else
                fputc(*c, text.stream);
        }
        text_end(&text);
        parse_good(text.bytes, text.length, &file);
        check_print(&file, examples[i].text);
        mlp_plan_file_free(&file);
        free(text.bytes);
        parse_good(examples[i].text, strlen(examples[i].text) - 1, &file);
        check_print(&file, examples[i].text);
        mlp_plan_file_free(&file);
    }
    char *spaced = replaced(two_devices, "product m=512 n=64 k=784\n", " product   m=512 n=64  k=784 \n");
    parse_good(spaced, strlen(spaced), &file);
    check_print(&file, two_devices);
    mlp_plan_file_free(&file);
    free(spaced);
}

/* What the file says of the gain, from the times alone. */
static void gains(void **state)
{
    (void)state;
    static const struct {
        mlp_plan_times times;
        const char *comment;
    } table[] = {
        {{3, 9, 4, 9, 3.5, 9}, "25.0 % less time than the first choice, 14.3 % less than the best that"},
        {{3, 9, 2, 9, 3.001, 9}, "50.0 % more time than the first choice, 0.0 % less than the best that"},
        {{1.9995, 1, 2, 1, 2, 1}, "k=1\n    # the first choice stays\n    epilogue"},
        {{1, 2, 1, 3, 1, 0}, "0.0 % less time than the first choice, 0.0 % less than the best that"},
        {{1.999, 1, 2, 1, 1.997, 7}, "0.1 % less time than the first choice, 0.1 % more than the best that"},
        {{0.0005, 0, 4, 0, 4, 0}, "100.0 % less time than the first choice, 100.0 % less than the best that"},
        {{1, 1, 0, 1, 1, 1}, "k=1\n    epilogue"},
        {{1, 1, 1, 1, 0.0004, 1}, "k=1\n    epilogue"},
        {{0.0004, 1, 2, 1, 2, 1}, "k=1\n    epilogue"},
        {{0, 0, 0, 0, 0, 0}, "k=1\n    epilogue"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        mlp_plan_entry entry = entries_of_two_devices[0];
        mlp_plan_file file = {.entries = NULL};
        size_t length;
        entry.product = "k=1";
        entry.times = table[i].times;
        assert_true(mlp_plan_file_add(&file, &entry));
        char *text = mlp_plan_file_print(&file, &length);
        if (!strstr(text, table[i].comment))
            fail_msg("'%s' is not in: %s", table[i].comment, text);
        free(text);
        mlp_plan_file_free(&file);
    }
}

/* The form against what else was measured. */
static void gains_of_forms(void **state)
{
    (void)state;
    static const struct {
        mlp_form form;
        double microseconds[MLP_FORMS];
        const char *lines;          /* behind a network named x */
    } table[] = {
        {MLP_FORM_FEW, {8.14, 0, 5.76}, "x\n    # few takes 29.2 % less time than steps\n    form few\n"},
        {MLP_FORM_FEW, {4, 2, 1}, "# few takes 75.0 % less time than steps, 50.0 % less than rows\n"},
        {MLP_FORM_ROWS, {0, 2, 4}, "x\n    # rows takes 50.0 % less time than few\n    form rows\n"},
        {MLP_FORM_ROWS, {2, 3, 4}, "# rows takes 50.0 % more time than steps, 25.0 % less than few\n"},
        {MLP_FORM_STEPS, {1, 1, 1.0004}, "# steps takes 0.0 % less time than rows, 0.0 % less than few\n"},
        {MLP_FORM_STEPS, {1, 0.0004, 2}, "x\n    # steps takes 50.0 % less time than few\n    form steps\n"},
        {MLP_FORM_STEPS, {1, 0, 0}, "x\n    form steps\n"},
        {MLP_FORM_FEW, {1, 2, 0.0004}, "x\n    form few\n"},
        {MLP_FORM_FEW, {0, 0, 0}, "x\n    form few\n"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        mlp_form_entry entry = {"G", 1, 0, "x", table[i].form, {0}};
        mlp_plan_file file = {.entries = NULL};
        size_t length;
        memcpy(entry.microseconds, table[i].microseconds, sizeof entry.microseconds);
        assert_true(mlp_plan_file_add_form(&file, &entry));
        char *text = mlp_plan_file_print(&file, &length);
        if (!strstr(text, table[i].lines))
            fail_msg("'%s' is not in: %s", table[i].lines, text);
        free(text);
        mlp_plan_file_free(&file);
    }
}

/* The words of the file, which has its own list of them. */
static void forms_are_named_as_everywhere(void **state)
{
    (void)state;
    static const char *const words[MLP_FORMS] = {"steps", "rows", "few"};
    for (size_t i = 0; i < MLP_FORMS; i++) {
        char line[32];
        size_t length;
        mlp_form_entry entry = {"G", 1, 0, "x", (mlp_form)i, {0}};
        mlp_plan_file file = {.entries = NULL}, again;
        assert_true(mlp_plan_file_add_form(&file, &entry));
        char *text = mlp_plan_file_print(&file, &length);
        snprintf(line, sizeof line, "    form %s\n", words[i]);
        assert_non_null(strstr(text, line));
        assert_string_equal(mlp_form_text((mlp_form)i), words[i]);
        parse_good(text, length, &again);
        assert_int_equal(again.forms[0].form, i);
        free(text);
        mlp_plan_file_free(&file);
        mlp_plan_file_free(&again);
    }
    assert_string_equal(mlp_form_text(MLP_FORMS), "unknown");
}

/* The text is what is kept of a time: once read, it prints as it was, and a time between thousandths is the nearest. */
static void every_time_prints_as_it_was_read(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 5000; i++) {
        char expected[64];
        size_t length;
        mlp_plan_entry entry = entries_of_two_devices[0];
        mlp_plan_file file = {.entries = NULL}, again;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint64_t thousandths = (seed >> 20) % 1000000000000u >> seed % 40;
        snprintf(expected, sizeof expected, " warm=%ju.%03ju ", (uintmax_t)(thousandths / 1000),
                 (uintmax_t)(thousandths % 1000));
        entry.times.warm = (double)thousandths / 1000 + (i % 3 - 1) * 0.0004;
        entry.times.warm = entry.times.warm < 0 ? 0 : entry.times.warm;
        if (entry.times.warm > 999999999.999)
            continue;
        assert_true(mlp_plan_file_add(&file, &entry));
        char *text = mlp_plan_file_print(&file, &length);
        assert_non_null(strstr(text, expected));
        parse_good(text, length, &again);
        assert_true(again.entries[0].times.warm == strtod(expected + 6, NULL));
        check_print(&again, text);
        free(text);
        mlp_plan_file_free(&file);
        mlp_plan_file_free(&again);
    }
}

/* ---- Order ---- */

static const struct {
    const char *device, *rest, *product;
} ordered[] = {
    {"", "\" multiprocessors=0 cublaslt=0.0.0\n", "x"},
    {"A#1 \xc3\xa9\\ ", "\" multiprocessors=9 cublaslt=13.1.0\n", "m=2"},
    {"A#1 \xc3\xa9\\ ", "\" multiprocessors=10 cublaslt=2.99.99\n", "m=1"},
    {"A#1 \xc3\xa9\\ ", "\" multiprocessors=10 cublaslt=13.0.2\n", "m=1"},
    {"A#1 \xc3\xa9\\ ", "\" multiprocessors=10 cublaslt=13.0.10\n", "m=1"},
    {"A#1 \xc3\xa9\\ ", "\" multiprocessors=10 cublaslt=99999.0.0\n", "m=1"},
    {"A10", "\" multiprocessors=2147483647 cublaslt=1.0.0\n", "m=1"},
    {"A9", "\" multiprocessors=1 cublaslt=1.0.0\n", "!"},
    {"A9", "\" multiprocessors=1 cublaslt=1.0.0\n", "m"},
    {"A9", "\" multiprocessors=1 cublaslt=1.0.0\n", "m=0"},
    {"A9", "\" multiprocessors=1 cublaslt=1.0.0\n", "m=1"},
    {"A9", "\" multiprocessors=1 cublaslt=1.0.0\n", "m=1 n=9"},
    {"A9", "\" multiprocessors=1 cublaslt=1.0.0\n", "m=1 n=10"},
    {"A9", "\" multiprocessors=1 cublaslt=1.0.0\n", "m=1x"},
    {"A9", "\" multiprocessors=1 cublaslt=1.0.0\n", "m=02"},
    {"A9", "\" multiprocessors=1 cublaslt=1.0.0\n", "m=2"},
    {"A9", "\" multiprocessors=1 cublaslt=1.0.0\n", "m=02 a"},
    {"A9", "\" multiprocessors=1 cublaslt=1.0.0\n", "m=2 b"},
    {"A9", "\" multiprocessors=1 cublaslt=1.0.0\n", "m=10/9"},
    {"A9", "\" multiprocessors=1 cublaslt=1.0.0\n", "m=10/10"},
    {"A9", "\" multiprocessors=1 cublaslt=1.0.0\n", "m=99999999999999999999998"},
    {"A9", "\" multiprocessors=1 cublaslt=1.0.0\n", "m=99999999999999999999999"},
    {"A9", "\" multiprocessors=1 cublaslt=1.0.0\n", "m=100000000000000000000000"},
    {"A9", "\" multiprocessors=1 cublaslt=1.0.0\n", "m~"},
    {"B", "\" multiprocessors=1 cublaslt=1.0.0\n", "a"},
};
enum { ORDERED = sizeof ordered / sizeof *ordered };

/* The `step`-th of them, then the 2 * step-th and so on, each as a product and a network, in either order, under a
 * device line of its own. */
static struct text shuffled(size_t step)
{
    struct text text;
    text_begin(&text);
    for (size_t i = 0; i < ORDERED; i++) {
        size_t at = (i + 1) * step % ORDERED;
        put_device(&text, ordered[at].device, ordered[at].rest);
        if (i % 2)
            put_entry(&text, ordered[at].product);
        put_network(&text, ordered[at].product);
        if (i % 2 == 0)
            put_entry(&text, ordered[at].product);
    }
    text_end(&text);
    return text;
}

static void check_order(const mlp_plan_file *file)
{
    assert_int_equal(file->count, ORDERED);
    assert_int_equal(file->form_count, ORDERED);
    for (size_t i = 0; i < ORDERED; i++) {
        char rest[80];
        const mlp_form_entry *form = &file->forms[i];
        const mlp_plan_entry *entry = &file->entries[i];
        snprintf(rest, sizeof rest, "\" multiprocessors=%d cublaslt=%zu.%zu.%zu\n", entry->multiprocessors,
                 entry->library / 10000, entry->library % 10000 / 100, entry->library % 100);
        assert_string_equal(entry->device, ordered[i].device);
        assert_string_equal(rest, ordered[i].rest);
        assert_string_equal(entry->product, ordered[i].product);
        assert_string_equal(form->network, ordered[i].product);
        assert_ptr_equal(form->device, entry->device);          /* in a file, equal names are one text */
        assert_int_equal(form->multiprocessors, entry->multiprocessors);
        assert_int_equal(form->library, entry->library);
    }
}

static void any_order_is_sorted(void **state)
{
    (void)state;
    size_t length = 0;
    char *first = NULL;
    for (size_t step = 1; step < ORDERED; step++) {
        mlp_plan_file file, added = {.entries = NULL};
        if (step % 5 == 0)                      /* shares a divisor with their number, and would repeat some */
            continue;
        struct text text = shuffled(step);
        parse_good(text.bytes, text.length, &file);
        check_order(&file);
        for (size_t i = 0; i < ORDERED; i++) {
            assert_true(mlp_plan_file_add(&added, &file.entries[(i + 1) * step % ORDERED]));
            assert_true(mlp_plan_file_add_form(&added, &file.forms[(i + 2) * step % ORDERED]));
        }
        check_order(&added);
        char *printed = mlp_plan_file_print(&file, &length);
        check_print(&added, printed);
        first = first ? first : strdup(printed);
        assert_string_equal(printed, first);
        free(printed);
        free(text.bytes);
        mlp_plan_file_free(&file);
        mlp_plan_file_free(&added);
    }
    free(first);
}

/* ---- Adding ---- */

static void add_replaces_one_and_keeps_the_others(void **state)
{
    (void)state;
    mlp_plan_file file;
    parse_good(two_devices, strlen(two_devices), &file);
    for (size_t i = 0; i < 3; i++) {
        char device[64], product[128];
        mlp_plan_entry changed = entries_of_two_devices[i];
        snprintf(device, sizeof device, "%s", changed.device);
        snprintf(product, sizeof product, "%s", changed.product);
        changed.device = device;
        changed.product = product;
        changed.algorithm.tile = 7;
        changed.times.warm = 2;
        assert_true(mlp_plan_file_add(&file, &changed));
        memset(device, '-', sizeof device - 1);         /* the file has texts of its own */
        memset(product, '-', sizeof product - 1);
        assert_int_equal(file.count, 3);
        for (size_t j = 0; j < 3; j++) {
            mlp_plan_entry expected = entries_of_two_devices[j];
            expected.algorithm.tile = j == i ? 7 : expected.algorithm.tile;
            expected.times.warm = j == i ? 2 : expected.times.warm;
            assert_true(same_entry(&file.entries[j], &expected));
        }
        assert_true(mlp_plan_file_add(&file, &entries_of_two_devices[i]));
    }
    check_print(&file, two_devices);
    mlp_plan_file_free(&file);
}

static void add_form_replaces_one_and_keeps_the_others(void **state)
{
    (void)state;
    mlp_plan_file file;
    parse_good(networks, strlen(networks), &file);
    for (size_t i = 0; i < FORMS; i++) {
        char device[64], network[128];
        mlp_form_entry changed = forms_of_networks[i];
        snprintf(device, sizeof device, "%s", changed.device);
        snprintf(network, sizeof network, "%s", changed.network);
        changed.device = device;
        changed.network = network;
        changed.form = MLP_FORM_ROWS;
        changed.microseconds[MLP_FORM_ROWS] = 0.25;
        assert_true(mlp_plan_file_add_form(&file, &changed));
        memset(device, '-', sizeof device - 1);         /* the file has texts of its own */
        memset(network, '-', sizeof network - 1);
        assert_int_equal(file.form_count, FORMS);
        for (size_t j = 0; j < FORMS; j++) {
            mlp_form_entry expected = forms_of_networks[j];
            expected.form = j == i ? MLP_FORM_ROWS : expected.form;
            expected.microseconds[MLP_FORM_ROWS] = j == i ? 0.25 : expected.microseconds[MLP_FORM_ROWS];
            assert_true(same_form(&file.forms[j], &expected));
        }
        assert_true(mlp_plan_file_add_form(&file, &forms_of_networks[i]));
    }
    check_print(&file, networks);
    mlp_plan_file_free(&file);
}

/* A file that neither kind of entry began: the other one comes into it, with names that are known and that are not. */
static void add_the_other_kind(void **state)
{
    (void)state;
    for (size_t first = 0; first < 2; first++) {
        mlp_plan_file file = {.entries = NULL};
        for (size_t kind = first; kind < first + 2; kind++) {
            for (size_t i = 0; i < FORMS && kind % 2; i++)
                assert_true(mlp_plan_file_add_form(&file, &forms_of_networks[FORMS - 1 - i]));
            if (kind % 2 == 0)
                assert_true(mlp_plan_file_add(&file, &entries_of_two_devices[1]));
        }
        assert_true(same_as(&file, &examples[1]));
        for (size_t i = 1; i < FORMS; i++)
            assert_ptr_equal(file.forms[i].device, file.entries[0].device);
        check_print(&file, networks);
        mlp_plan_file_free(&file);
    }
}

/* Every one of device, multiprocessors, library and product tells entries apart. */
static void add_beside(void **state)
{
    (void)state;
    mlp_plan_file file = {.entries = NULL};
    mlp_plan_entry entry = entries_of_two_devices[1];
    assert_true(mlp_plan_file_add(&file, &entry));
    entry.device = "NVIDIA H20";
    assert_true(mlp_plan_file_add(&file, &entry));
    entry = entries_of_two_devices[1];
    entry.multiprocessors = 78;
    assert_true(mlp_plan_file_add(&file, &entry));
    entry = entries_of_two_devices[1];
    entry.library = 130200;
    assert_true(mlp_plan_file_add(&file, &entry));
    entry = entries_of_two_devices[1];
    entry.product = "m=512 n=64 k=785";
    assert_true(mlp_plan_file_add(&file, &entry));
    assert_int_equal(file.count, 5);
    assert_string_equal(file.entries[0].device, "NVIDIA H20");
    assert_int_equal(file.entries[1].multiprocessors, 78);
    assert_true(same_entry(&file.entries[2], &entries_of_two_devices[1]));
    assert_string_equal(file.entries[3].product, "m=512 n=64 k=785");
    assert_int_equal(file.entries[4].library, 130200);
    mlp_plan_file_free(&file);
}

/* Entries of the file itself may be given, while it grows and moves. */
static void add_to_itself(void **state)
{
    (void)state;
    mlp_plan_file file;
    parse_good(two_devices, strlen(two_devices), &file);
    for (int i = 0; i < 500; i++) {
        char product[32];
        snprintf(product, sizeof product, "m=%d", i * 7 % 500);
        mlp_plan_entry entry = file.entries[0];
        entry.product = product;
        assert_true(mlp_plan_file_add(&file, &entry));
        assert_true(mlp_plan_file_add(&file, &file.entries[file.count - 1]));
    }
    assert_int_equal(file.count, 503);
    for (size_t i = 0; i < 500; i++)
        assert_int_equal(strtol(file.entries[i].product + 2, NULL, 10), i);
    assert_true(same_entries(file.entries + 500, entries_of_two_devices, 3) ||
                same_entry(&file.entries[502], &entries_of_two_devices[2]));
    mlp_plan_file_free(&file);
}

static void add_forms_to_itself(void **state)
{
    (void)state;
    mlp_plan_file file;
    parse_good(networks, strlen(networks), &file);
    for (int i = 0; i < 500; i++) {
        char network[32];
        snprintf(network, sizeof network, "a rows=%d", i * 7 % 500);
        mlp_form_entry entry = file.forms[0];
        entry.network = network;
        assert_true(mlp_plan_file_add_form(&file, &entry));
        assert_true(mlp_plan_file_add_form(&file, &file.forms[file.form_count - 1]));
    }
    assert_int_equal(file.form_count, 500 + FORMS);
    for (size_t i = 0; i < 500; i++)
        assert_int_equal(strtol(file.forms[i].network + 7, NULL, 10), i);
    for (size_t i = 0; i < FORMS; i++)
        assert_true(same_form(&file.forms[500 + i], &forms_of_networks[i]));
    assert_int_equal(file.count, 1);
    mlp_plan_file_free(&file);
}

static const char *const bad_devices[] = {"a\"b", "a\nb", "a\rb", "\t", "\x7f"};
static const char *const bad_words[] = {"", " ", " m=1", "m=1 ", "m=1  n=1", "m\n", "#", "m\"", "m\xc3\xa9", "m\t1"};
static const double bad_times[] = {-0.001, 1e9, 1e300, (double)INFINITY, (double)NAN};

static void check_misfit(const mlp_plan_entry *entry)
{
    mlp_plan_file file;
    parse_good(two_devices, strlen(two_devices), &file);
    assert_false(mlp_plan_file_add(&file, entry));
    check_print(&file, two_devices);
    mlp_plan_file_free(&file);
}

static void check_form_misfit(const mlp_form_entry *entry)
{
    mlp_plan_file file = {.entries = NULL};
    assert_false(mlp_plan_file_add_form(&file, entry));
    assert_true(!file.forms && !file.form_count);
    parse_good(networks, strlen(networks), &file);
    assert_false(mlp_plan_file_add_form(&file, entry));
    check_print(&file, networks);
    mlp_plan_file_free(&file);
}

/* What the file could not say is not taken. */
static void misfits(void **state)
{
    (void)state;
    mlp_plan_entry entry = entries_of_two_devices[0];
    for (size_t i = 0; i < sizeof bad_devices / sizeof *bad_devices; i++)
        entry.device = bad_devices[i], check_misfit(&entry);
    entry = entries_of_two_devices[0];
    for (size_t i = 0; i < sizeof bad_words / sizeof *bad_words; i++)
        entry.product = bad_words[i], check_misfit(&entry);
    for (size_t i = 0; i < 6 * sizeof bad_times / sizeof *bad_times; i++) {
        entry = entries_of_two_devices[0];
        double *const places[] = {&entry.times.warm, &entry.times.cold, &entry.times.first_warm,
                                  &entry.times.first_cold, &entry.times.listed_warm, &entry.times.listed_cold};
        *places[i % 6] = bad_times[i / 6];
        check_misfit(&entry);
    }
    entry = entries_of_two_devices[0];
    entry.multiprocessors = -1, check_misfit(&entry);
    entry = entries_of_two_devices[0];
    entry.algorithm.id = -1, check_misfit(&entry);
    entry = entries_of_two_devices[0];
    entry.library = 1000000000, check_misfit(&entry);
}

static void misfits_of_forms(void **state)
{
    (void)state;
    mlp_form_entry entry = forms_of_networks[2];
    for (size_t i = 0; i < sizeof bad_devices / sizeof *bad_devices; i++)
        entry.device = bad_devices[i], check_form_misfit(&entry);
    entry = forms_of_networks[2];
    for (size_t i = 0; i < sizeof bad_words / sizeof *bad_words; i++)
        entry.network = bad_words[i], check_form_misfit(&entry);
    for (size_t i = 0; i < MLP_FORMS * sizeof bad_times / sizeof *bad_times; i++) {
        entry = forms_of_networks[2];
        entry.microseconds[i % MLP_FORMS] = bad_times[i / MLP_FORMS];
        check_form_misfit(&entry);
    }
    entry = forms_of_networks[2];
    entry.multiprocessors = -1, check_form_misfit(&entry);
    entry = forms_of_networks[2];
    entry.library = 1000000000, check_form_misfit(&entry);
    entry = forms_of_networks[2];
    entry.form = MLP_FORMS, check_form_misfit(&entry);
    entry.form = (mlp_form)-1, check_form_misfit(&entry);
}

/* ---- Refusals ---- */

/* `from` of a text above becomes `to`. */
struct edit {
    const char *from, *to;
    size_t line;
    const char *reason;
};

static const struct edit edits[] = {
    {"mlpc plans 1\n", "mlpc plans 2\n", 3, "version '2'"},
    {"mlpc plans 1\n", "mlpc plans 11\n", 3, "version '11'"},
    {"mlpc plans 1\n", "mlpc plans\n", 3, "should be 'mlpc plans 1'"},
    {"mlpc plans 1\n", "mlpc plan 1\n", 3, "should be 'mlpc plans 1'"},
    {"mlpc plans 1\n", "mlpc plans 1 2\n", 3, "'2' is more than this line should say"},
    {"mlpc plans 1\n", "\n", 5, "first line should be 'mlpc plans 1'"},
    {"mlpc plans 1\n", "plans\n", 3, "first line should be 'mlpc plans 1'"},
    {"mlpc plans 1\n", "mlpc plans 1\nmlpc plans 1\n", 4, "second version"},
    {"    workspace 0\n", "mlpc plans 1\n", 11, "second version"},

    {"device \"NVIDIA H100 80GB HBM3\" multiprocessors=132 cublaslt=12.8.5\n", "\n", 7, "a product before any device"},
    {"device \"NVIDIA H100 80GB HBM3\"", "device", 5, "between '\"'"},
    {"device \"NVIDIA H100 80GB HBM3\"", "device NVIDIA", 5, "between '\"'"},
    {"\"NVIDIA H100 80GB HBM3\"", "\"NVIDIA H100", 5, "between '\"'"},
    {"\"NVIDIA H100 80GB HBM3\" multiprocessors=132 cublaslt=12.8.5", "\"", 5, "any characters but '\"' and control"},
    {"\"NVIDIA H100 80GB HBM3\"", "\"NVIDIA \"H100\"\"", 5, "which holds no '\"'"},
    {"HBM3\" multi", "HBM3\"multi", 5, "a space should follow"},
    {" multiprocessors=132", "", 5, "'cublaslt' stands in the place of 'multiprocessors'"},
    {" cublaslt=12.8.5", "", 5, "'cublaslt' is missing"},
    {" cublaslt=12.8.5", " multiprocessors=132", 5, "'multiprocessors' is given twice"},
    {" cublaslt=12.8.5", " cublaslt=12.8.5 cublaslt=12.8.5", 5, "'cublaslt=12.8.5' is more than"},
    {" cublaslt=12.8.5", " cublas=12.8.5", 5, "unknown word 'cublas=12.8.5' in the place of 'cublaslt'"},
    {"multiprocessors=132", "multiprocessors=2147483648", 5, "not a whole number from 0 to 2147483647"},
    {"multiprocessors=132", "multiprocessors=", 5, "'multiprocessors' is ''"},
    {"cublaslt=12.8.5", "cublaslt=12.8", 5, "not a version"},
    {"cublaslt=12.8.5", "cublaslt=12", 5, "not a version"},
    {"cublaslt=12.8.5", "cublaslt=", 5, "not a version"},
    {"cublaslt=12.8.5", "cublaslt=.", 5, "not a version"},
    {"cublaslt=12.8.5", "cublaslt=12.8.", 5, "not a version"},
    {"cublaslt=12.8.5", "cublaslt=12.8.5.", 5, "not a version"},
    {"cublaslt=12.8.5", "cublaslt=12.8.05", 5, "not a version"},
    {"cublaslt=12.8.5", "cublaslt=12.100.5", 5, "not a version"},
    {"cublaslt=12.8.5", "cublaslt=12.8.100", 5, "not a version"},
    {"cublaslt=12.8.5", "cublaslt=100000.8.5", 5, "not a version"},

    {"product m=512 n=64 k=784 a=", "product\n", 7, "sizes and types should stand here"},
    {"product m=512 n=64 k=784 a=", "product m=512 #n=64 k=784 a=", 7, "'#n=64' in a product"},
    {"product m=512 n=64 k=784 a=", "product m=512 \"n=64\" k=784 a=", 7, "'\"n=64\"' in a product"},
    {"product m=512 n=64 k=784 a=", "product m=512 n\xc3\xa9 k=784 a=", 7, "'n?" "?' in a product"},
    {"product m=512 n=64 k=784 a=", "products m=512 n=64 k=784 a=", 7, "unknown word 'products'"},

    {"epilogue fused", "epilogue bias", 9, "'fused' or 'apart', not 'bias'"},
    {"epilogue fused", "epilogue", 9, "'fused' or 'apart', not ''"},
    {"epilogue fused", "epilogue fused apart", 9, "'apart' is more than"},
    {"    epilogue fused\n", "", 9, "'algorithm' stands in the place of 'epilogue'"},
    {"    epilogue fused\n", "    epilogue fused\n    epilogue fused\n", 10, "'epilogue' is given twice"},
    {"    epilogue fused\n", "    nonsense\n", 9, "unknown word 'nonsense'"},
    {"    epilogue fused\n", "    epilogue\xc2\xa0" "fused\n", 9, "unknown word 'epilogue?" "?fused'"},

    {" tile=602", "", 10, "'stages' stands in the place of 'tile'"},
    {" tile=602", " id=66", 10, "'id' is given twice"},
    {" tile=602", " tile", 10, "unknown word 'tile' in the place of 'tile'"},
    {" tile=602 stages=35", " stages=35 tile=602", 10, "'stages' stands in the place of 'tile'"},
    {" cluster=2", "", 10, "'cluster' is missing"},
    {" cluster=2", " cluster=2 tile=602", 10, "'tile=602' is more than"},
    {" tile=602", " tile=4294967296", 10, "'tile' is '4294967296', not a whole number from 0 to 4294967295"},
    {" tile=602", " tile=18446744073709551616", 10, "not a whole number from 0 to 4294967295"},
    {" tile=602", " tile=18446744073709552218", 10, "not a whole number from 0 to 4294967295"},
    {" id=66", " id=2147483648", 10, "not a whole number from 0 to 2147483647"},
    {" tile=602", " tile=0602", 10, "'tile' is '0602', not a whole number"},
    {" tile=602", " tile=00", 10, "'tile' is '00', not a whole number"},
    {" tile=602", " tile=-1", 10, "'tile' is '-1', not a whole number"},
    {" tile=602", " tile=+1", 10, "'tile' is '+1', not a whole number"},
    {" tile=602", " tile=0x1", 10, "'tile' is '0x1', not a whole number"},
    {" tile=602", " tile=", 10, "'tile' is '', not a whole number"},
    {" tile=602", " tile= 602", 10, "'tile' is '', not a whole number"},

    {"workspace 0", "workspace 18446744073709551616", 11, "not a whole number from 0 to 18446744073709551615"},
    {"workspace 0", "workspace", 11, "the workspace is ''"},
    {"workspace 0", "workspace 00", 11, "the workspace is '00'"},
    {"workspace 0", "workspace 0 0", 11, "'0' is more than"},
    {"    workspace 0\n", "    workspace 0\n    algorithm id=66\n", 12, "'algorithm' is given twice"},
    {"    workspace 0\n", "    checksum 0123456789abcdef\n", 11, "'checksum' stands in the place of 'workspace'"},

    {"bytes 0000000000000042", "bytes 000000000000042", 12, "'000000000000042' is not 16 digits"},
    {"bytes 0000000000000042", "bytes 00000000000000042", 12, "'00000000000000042' is not 16 digits"},
    {"bytes 0000000000000042", "bytes 000000000000004G", 12, "'000000000000004G' is not 16 digits"},
    {"bytes 0000000000000042", "bytes 000000000000004A", 12, "'000000000000004A' is not 16 digits"},
    {"bytes 0000000000000042", "bytes 0x00000000000042", 12, "'0x00000000000042' is not 16 digits"},
    {"bytes 0000000000000042 ", "bytes ", 12, "1 words of 'bytes' are missing"},
    {"bytes 0000000000000042", "bytes 0000000000000042 0000000000000042", 12, "'0000000000000001' is more than"},

    {"warm=3.020", "warm=3.02", 13, "'warm' is '3.02', not microseconds"},
    {"warm=3.020", "warm=3.0200", 13, "not microseconds"},
    {"warm=3.020", "warm=3,020", 13, "not microseconds"},
    {"warm=3.020", "warm=.020", 13, "not microseconds"},
    {"warm=3.020", "warm=03.020", 13, "not microseconds"},
    {"warm=3.020", "warm=-3.020", 13, "not microseconds"},
    {"warm=3.020", "warm=3.02e", 13, "not microseconds"},
    {"warm=3.020", "warm=3e1.000", 13, "not microseconds"},
    {"warm=3.020", "warm=nan", 13, "not microseconds"},
    {"warm=3.020", "warm=1000000000.000", 13, "not microseconds"},
    {"warm=3.020", "warm=18446744073709551619.020", 13, "not microseconds"},
    {" cold=4.900", "", 13, "'first_warm' stands in the place of 'cold'"},
    {" listed_warm=3.080", "", 13, "'listed_cold' stands in the place of 'listed_warm'"},
    {" listed_warm=3.080 listed_cold=4.950", "", 13, "'listed_warm' is missing"},
    {" listed_cold=4.950", " listed_warm=4.950", 13, "'listed_warm' is given twice"},
    {" listed_cold=4.950", " 4.950", 13, "unknown word '4.950' in the place of 'listed_cold'"},
    {" listed_cold=4.950", " listed_cold=", 13, "'listed_cold' is '', not microseconds"},
    {" listed_cold=4.950", " listed_cold=4.950 listed_cold=4.950", 13, "'listed_cold=4.950' is more than"},
    {" listed_cold=4.950", "", 14, "damaged, or edited by hand"},
    {" listed_cold=4.950", " listed_cold=0.000", 14, "damaged, or edited by hand"},
    {" listed_cold=0.000", "", 25, "the entry's checksum is 196ebf960c55ee96, its text gives f5f34c6f4ea3bcab"},
    {" listed_warm=3.080", " warm=3.080", 13, "'warm' is given twice"},

    {"checksum 3c94b1db1d8362a1", "checksum 3c94b1db1d8362a0", 14,
     "the entry's checksum is 3c94b1db1d8362a0, its text gives 3c94b1db1d8362a1: damaged, or edited by hand"},
    {"warm=3.020", "warm=3.021", 14, "the entry's checksum is 3c94b1db1d8362a1, its text gives "},
    {"m=512 n=64 k=784 a=", "m=512 n=65 k=784 a=", 14, "damaged, or edited by hand"},
    {"H100 80GB", "H100 90GB", 14, "damaged, or edited by hand"},
    {"epilogue fused", "epilogue apart", 14, "damaged, or edited by hand"},
    {"0000000000000042", "0000000000000043", 14, "damaged, or edited by hand"},
    {"workspace 0", "workspace 1", 14, "damaged, or edited by hand"},
    {"checksum 3c94b1db1d8362a1", "checksum 3C94B1DB1D8362A1", 14, "not 16 digits"},
    {"checksum 3c94b1db1d8362a1", "checksum", 14, "the checksum '' is not 16 digits"},
    {"checksum 3c94b1db1d8362a1", "checksum 3c94b1db1d8362a1 0", 14, "'0' is more than"},
    {"    checksum 3c94b1db1d8362a1\n", "", 15, "the entry of line 7 ends before its 'checksum'"},
    {"    checksum 196ebf960c55ee96\n", "", 26, "the entry of line 18 ends before its 'checksum'"},
    {"    checksum 298a085cb7a569e5\n", "", 33, "the entry of line 27 ends before its 'checksum'"},
    {"    checksum 298a085cb7a569e5\n", "\n\n# end\n", 36, "the entry of line 27 ends before its 'checksum'"},
    {"\nproduct m=512 n=128 k=784\n", "\n", 28, "'epilogue' stands outside of an entry"},

    {"    workspace 0\n", "    workspace\t0\n", 11, "byte 14 of the line is 0x09, a control character"},
    {"    workspace 0\n", "    workspace 0\r \n", 11, "byte 16 of the line is 0x0d"},
    {"    workspace 0\n", "    workspace 0\r\r\n", 11, "byte 16 of the line is 0x0d"},
    {"# the first", "# the\x1b first", 19, "byte 10 of the line is 0x1b"},
    {"NVIDIA H200", "NVIDIA\x7fH200", 16, "byte 15 of the line is 0x7f"},
    {"# Plans", "\xef\xbb\xbf# Plans", 1, "first line should be 'mlpc plans 1'"},
};

static const struct edit network_edits[] = {
    {"device \"GeForce\" multiprocessors=82 cublaslt=0.0.0\n", "\n", 7, "a network before any device"},
    {"cublaslt=0.0.0", "cublaslt=0", 5, "not a version"},
    {"network digits rows=1 layout=00000000000000ff", "network", 7, "a network's name and size should stand here"},
    {"network digits rows=1 layout=00000000000000ff", "network  ", 7, "a network's name and size should stand here"},
    {"network digits", "network #digits", 7, "'#digits' in a network is not of printable ASCII"},
    {"network digits", "network digits\"", 7, "'digits\"' in a network is not of printable ASCII"},
    {"network digits", "networks digits", 7, "unknown word 'networks'"},

    {"form steps", "form step", 9, "the form is 'steps', 'rows' or 'few', not 'step'"},
    {"form steps", "form Steps", 9, "the form is 'steps', 'rows' or 'few', not 'Steps'"},
    {"form steps", "form", 9, "the form is 'steps', 'rows' or 'few', not ''"},
    {"form steps", "form steps rows", 9, "'rows' is more than"},
    {"    form steps\n", "", 9, "'microseconds' stands in the place of 'form'"},
    {"    form steps\n", "    form steps\n    form steps\n", 10, "'form' is given twice"},
    {"    form steps\n", "    epilogue fused\n", 9, "'epilogue' stands in the place of 'form'"},
    {"    form steps\n", "    form steps\n    workspace 0\n", 10, "'workspace' stands in the place of 'microseconds'"},
    {"    form steps\n", "    form steps\n    checksum 0\n", 10, "'checksum' stands in the place of 'microseconds'"},
    {"    form steps\n", "network x\n", 9, "the entry of line 7 ends before its 'form'"},
    {"    form steps\n", "    form steps\nproduct x\n", 10, "the entry of line 7 ends before its 'microseconds'"},
    {"    form steps\n", "    form steps\ndevice \"G\"\n", 10, "the entry of line 7 ends before its 'microseconds'"},
    {"    form steps\n", "mlpc plans 1\n", 9, "second version"},

    {"steps=9.000", "steps=9.00", 10, "'steps' is '9.00', not microseconds"},
    {"steps=9.000", "steps=1000000000.000", 10, "not microseconds"},
    {"steps=9.000", "steps=-9.000", 10, "not microseconds"},
    {"steps=9.000", "warm=9.000", 10, "unknown word 'warm=9.000' in the place of 'steps'"},
    {" rows=0.000 few=10.000", " few=10.000", 10, "'few' stands in the place of 'rows'"},
    {" rows=0.000 few=10.000", " steps=0.000 few=10.000", 10, "'steps' is given twice"},
    {" few=10.000", "", 10, "'few' is missing"},
    {" few=10.000", " few=10.000 listed_cold=0.000", 10, "'listed_cold=0.000' is more than"},

    {"0ddc106521b1578f", "0ddc106521b1578e", 11,
     "the entry's checksum is 0ddc106521b1578e, its text gives 0ddc106521b1578f: damaged, or edited by hand"},
    {"0ddc106521b1578f", "ddc106521b1578f", 11, "the checksum 'ddc106521b1578f' is not 16 digits"},
    {"steps=9.000", "steps=9.001", 11, "damaged, or edited by hand"},
    {"form steps", "form few", 11, "damaged, or edited by hand"},
    {"digits rows=1 ", "digits rows=2 ", 11, "damaged, or edited by hand"},
    {"cublaslt=0.0.0", "cublaslt=0.0.1", 11, "damaged, or edited by hand"},
    {"GeForce", "Geforce", 11, "damaged, or edited by hand"},
    {"    checksum 0ddc106521b1578f\n", "", 12, "the entry of line 7 ends before its 'checksum'"},
    {"    checksum b883ce172f882a94\n", "", 47, "the entry of line 45 ends before its 'checksum'"},
    {"network policy rows=1 layout=0123456789abcdef\n", "\n", 24, "'form' stands outside of an entry"},
    {"product m=512 n=64 k=784\n", "network m=512 n=64 k=784\n", 36, "'epilogue' stands in the place of 'form'"},
};

static void check_edit(const char *original, const struct edit *edit)
{
    char *text = replaced(original, edit->from, edit->to);
    check_refusal(text, strlen(text), edit->line, edit->reason);
    free(text);
}

static void refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
        check_edit(two_devices, &edits[i]);
    for (size_t i = 0; i < sizeof network_edits / sizeof *network_edits; i++)
        check_edit(networks, &network_edits[i]);
}

static void no_version(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t line;
    } table[] = {{"", 1}, {"\n", 1}, {"# mlpc plans 1\n", 1}, {"\n\n  # x\n ", 4}};
    mlp_plan_file file;
    mlp_plan_error error;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        check_refusal(table[i].text, strlen(table[i].text), table[i].line, "ends before a line 'mlpc plans 1'");
    assert_false(mlp_plan_file_parse(NULL, 0, &file, &error));
    assert_int_equal(error.line, 1);
}

static void nul_bytes(void **state)
{
    (void)state;
    size_t length = strlen(two_devices);
    char *text = strdup(two_devices), *at = strstr(text, "k=784\n");
    check_refusal(two_devices, length + 1, 35, "byte 1 of the line is 0x00");
    *at = 0;
    check_refusal(text, length, 18, "byte 20 of the line is 0x00");
    memcpy(text, two_devices, length);
    text[0] = 0;
    check_refusal(text, length, 1, "byte 1 of the line is 0x00");
    free(text);
}

/* Wherever the two stand, told at the line of the second; of several, the first. */
static void twice(void **state)
{
    (void)state;
    struct text text;
    text_begin(&text);
    put_device(&text, "G", h200);               /* line 2 */
    put_entry(&text, "m=3");                    /* 3 */
    put_entry(&text, "m=1");                    /* 10 */
    put_device(&text, "F", h200);               /* 17 */
    put_entry(&text, "m=1");                    /* 18, of another device */
    put_device(&text, "G", "\" multiprocessors=131 cublaslt=13.1.0\n");
    put_entry(&text, "m=1");                    /* 26 */
    put_device(&text, "G", "\" multiprocessors=132 cublaslt=13.1.1\n");
    put_entry(&text, "m=1");                    /* 34 */
    fflush(text.stream);
    mlp_plan_file file;
    parse_good(text.bytes, text.length, &file);
    assert_int_equal(file.count, 5);
    mlp_plan_file_free(&file);
    put_device(&text, "G", h200);               /* 41 */
    put_entry(&text, "m=2");                    /* 42 */
    put_entry(&text, "m=3");                    /* 49 */
    put_entry(&text, "m=1");                    /* 56 */
    put_entry(&text, "m=1");                    /* 63 */
    put_entry(&text, "m=9");                    /* 70 */
    put_entry(&text, "m=9");                    /* 77 */
    text_end(&text);
    check_refusal(text.bytes, text.length, 49, "the product of line 3 again");
    free(text.bytes);
}

/* A product and a network may have the same words; and which of the repeated stands first in the file counts. */
static void networks_twice(void **state)
{
    (void)state;
    struct text text;
    mlp_plan_file file;
    text_begin(&text);
    put_device(&text, "G", h200);               /* line 2 */
    put_network(&text, "x");                    /* 3 */
    put_entry(&text, "x");                      /* 7 */
    put_network(&text, "y");                    /* 14 */
    put_device(&text, "F", h200);               /* 18 */
    put_network(&text, "x");                    /* 19, of another device */
    fflush(text.stream);
    parse_good(text.bytes, text.length, &file);
    assert_int_equal(file.count, 1);
    assert_int_equal(file.form_count, 3);
    mlp_plan_file_free(&file);
    put_device(&text, "G", h200);               /* 23 */
    put_network(&text, "y");                    /* 24 */
    put_entry(&text, "x");                      /* 28 */
    put_network(&text, "x");                    /* 35 */
    text_end(&text);
    check_refusal(text.bytes, text.length, 24, "the network of line 14 again, for the same device and library");
    free(text.bytes);
    text_begin(&text);
    put_device(&text, "G", h200);               /* 2 */
    put_entry(&text, "x");                      /* 3 */
    put_network(&text, "y");                    /* 10 */
    put_entry(&text, "x");                      /* 14 */
    put_network(&text, "y");                    /* 21 */
    text_end(&text);
    check_refusal(text.bytes, text.length, 14, "the product of line 3 again, for the same device and library");
    free(text.bytes);
}

/* ---- Damage ---- */

/* Each of its bits turned, and then bytes that mean something. */
static char changed(char byte, size_t how)
{
    static const char meaning[] = "\n\r\t #\".=-09afFg\x7f\xff";
    return how < 8 ? (char)(byte ^ 1 << how) : meaning[how - 8];
}
enum { CHANGES = 8 + 17 + 1 };                          /* the last one is 0 */

/* Where one byte is another, the text is refused or says the same. Returns whether it was refused. */
static int check_changed(const struct example *example, const char *text, size_t at)
{
    mlp_plan_file file;
    mlp_plan_error error;
    int good = parse(text, strlen(example->text), &file, &error);
    if (good && !same_as(&file, example))
        fail_msg("byte %zu as 0x%02x gives other entries", at, (unsigned)(unsigned char)text[at]);
    assert_true(good || (error.line > 0 && error.text[0]));
    mlp_plan_file_free(&file);
    return !good;
}

static void every_change_of_a_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < EXAMPLES; i++) {
        char *text = strdup(examples[i].text);
        size_t length = strlen(text), refused = 0;
        for (size_t at = 0; at < length; at++) {
            char kept = text[at];
            for (size_t how = 0; how < CHANGES; how++) {
                text[at] = changed(kept, how);
                refused += (size_t)check_changed(&examples[i], text, at);
            }
            text[at] = kept;
        }
        assert_true(refused > 0 && refused < CHANGES * length);
        free(text);
    }
}

/* Whether the first `cut` bytes end where a shorter file may end, too: behind the last byte of a version, a device line
 * or an entry, or in the empty lines that follow. */
static int may_end(const char *text, size_t cut)
{
    size_t end = cut, begin;
    while (end && text[end - 1] == '\n')
        end--;
    for (begin = end; begin && text[begin - 1] != '\n';)
        begin--;
    return text[end] == '\n' && (!strncmp(text + begin, "mlpc ", 5) || !strncmp(text + begin, "device ", 7) ||
                                 !strncmp(text + begin, "    checksum ", 13));
}

static size_t occurrences(const char *text, size_t length, const char *what)
{
    size_t count = 0, what_length = strlen(what);
    for (size_t i = 0; i + what_length <= length; i++)
        count += !memcmp(text + i, what, what_length);
    return count;
}

/* A text that ends early is refused; or it is one that nobody can tell from a shorter one, and gives its entries. */
static void check_cut(const struct example *example, size_t cut, size_t *most)
{
    mlp_plan_file file;
    mlp_plan_error error;
    int good = parse(example->text, cut, &file, &error);
    assert_int_equal(good, may_end(example->text, cut));
    if (good) {
        assert_int_equal(file.count, occurrences(example->text, cut, "\nproduct "));
        assert_int_equal(file.form_count, occurrences(example->text, cut, "\nnetwork "));
        assert_true(begins_as(&file, example));
        assert_true(file.count + file.form_count <= *most + 1);         /* none is left out */
        *most = file.count + file.form_count;
    } else {
        assert_true(error.line > 0 && error.line <= occurrences(example->text, cut, "\n") + 1);
    }
    mlp_plan_file_free(&file);
}

static void every_truncation(void **state)
{
    (void)state;
    for (size_t i = 0; i < EXAMPLES; i++) {
        size_t most = 0;
        for (size_t cut = 0; cut < strlen(examples[i].text); cut++)
            check_cut(&examples[i], cut, &most);
        assert_int_equal(most, examples[i].count + examples[i].form_count);
    }
}

/* ---- Sizes ---- */

static char *repeated(char c, size_t count)
{
    char *text = malloc(count + 1);
    memset(text, c, count);
    text[count] = 0;
    return text;
}

/* Lines of a million bytes, of every kind that has a free part; and words so long where short ones belong. */
static void long_lines(void **state)
{
    (void)state;
    enum { LONG = 1000000 };
    static const char *const wrong[] = {
        "mlpc plans 1\n%s\n",
        "mlpc plans 1\nmlpc %s\n",
        "mlpc plans 1\ndevice %s\n",
        "mlpc plans 1\ndevice \"%s\n",
        "mlpc plans 1\ndevice \"a\" %s\n",
        "mlpc plans 1\ndevice \"a\" multiprocessors=%s\n",
        "mlpc plans 1\ndevice \"a\" multiprocessors=1 cublaslt=%s.1.1\n",
        "mlpc plans 1\ndevice \"a\" multiprocessors=1 cublaslt=1.1.1 %s\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *filling = repeated("a90"[i % 3], LONG), *text = malloc(LONG + 200);
        int length = snprintf(text, LONG + 200, wrong[i], filling);
        parse_wrong(text, (size_t)length);
        free(filling);
        free(text);
    }
    struct text text;
    mlp_plan_file file;
    char *name = repeated('#', LONG), *product = repeated('1', LONG), *spaces = repeated(' ', LONG);
    text_begin(&text);
    put_device(&text, name, h200);
    put_entry(&text, product);
    put_network(&text, product);
    fprintf(text.stream, "#%s%s\n%s#\n%s\n", product, name, spaces, spaces);
    put_entry(&text, "m=1");
    text_end(&text);
    parse_good(text.bytes, text.length, &file);
    assert_int_equal(file.count, 2);
    assert_string_equal(file.entries[1].device, name);
    assert_string_equal(file.entries[0].product, product);
    assert_int_equal(file.form_count, 1);
    assert_string_equal(file.forms[0].network, product);
    size_t length;
    char *printed = mlp_plan_file_print(&file, &length);
    assert_non_null(printed);
    mlp_plan_file_free(&file);
    parse_good(printed, length, &file);
    check_print(&file, printed);
    mlp_plan_file_free(&file);
    free(printed), free(text.bytes), free(name), free(product), free(spaces);
}

/* Of the processor's time; sanitizers take 4 on a busy machine, and quadratic time takes more than 20. */
static const double most_seconds = 15;

static void parse_in_time(const struct text *text, mlp_plan_file *file)
{
    clock_t start = clock();
    parse_good(text->bytes, text->length, file);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (seconds > most_seconds)
        fail_msg("%zu bytes took %.1f s", text->length, seconds);
}

static void many_entries(void **state)
{
    (void)state;
    enum { MANY = 100000 };
    struct text text;
    mlp_plan_file file;
    text_begin(&text);
    put_device(&text, "G", h200);
    for (size_t i = 0; i < MANY; i++) {
        char product[64];
        snprintf(product, sizeof product, "m=512 n=%zu k=784", i * 7919 % MANY);
        put_entry(&text, product);
        put_network(&text, product);
    }
    text_end(&text);
    parse_in_time(&text, &file);
    assert_int_equal(file.count, MANY);
    assert_int_equal(file.form_count, MANY);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(strtoul(file.entries[i].product + 8, NULL, 10), i);
        assert_int_equal(strtoul(file.forms[i].network + 8, NULL, 10), i);
    }
    free(text.bytes);
    mlp_plan_file_free(&file);
}

/* Many products and networks of devices whose names are long and alike to their last letters. */
static void long_names_of_many_products(void **state)
{
    (void)state;
    enum { LONG = 500000, EACH = 5000, DEVICES = 8 };
    struct text text;
    mlp_plan_file file;
    char *name = repeated('G', LONG);
    text_begin(&text);
    for (size_t device = 0; device < DEVICES; device++) {
        name[LONG - 1] = (char)('a' + device / 2);      /* each of them in two places */
        put_device(&text, name, h200);
        for (size_t i = 0; i < EACH; i++) {
            char product[64];
            snprintf(product, sizeof product, "m=%zu", i * 2 + device % 2);
            put_entry(&text, product);
            put_network(&text, product);
        }
    }
    text_end(&text);
    parse_in_time(&text, &file);
    assert_int_equal(file.count, DEVICES * EACH);
    assert_int_equal(file.form_count, DEVICES * EACH);
    for (size_t i = 0; i < file.count; i++) {
        assert_int_equal(file.entries[i].device[LONG - 1], 'a' + i / (2 * EACH));
        assert_int_equal(strtoul(file.entries[i].product + 2, NULL, 10), i % (2 * EACH));
    }
    size_t length = 0;
    clock_t start = clock();
    char *printed = mlp_plan_file_print(&file, &length);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < most_seconds);
    assert_int_equal(occurrences(printed, length, "\ndevice \"GGG"), DEVICES / 2);
    assert_true(length > DEVICES / 2 * LONG);
    free(printed);
    free(text.bytes), free(name);
    mlp_plan_file_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_text),
        cmocka_unit_test(without_listed_cold),
        cmocka_unit_test(listed_cold_is_written),
        cmocka_unit_test(no_entries),
        cmocka_unit_test(freedom),
        cmocka_unit_test(gains),
        cmocka_unit_test(gains_of_forms),
        cmocka_unit_test(forms_are_named_as_everywhere),
        cmocka_unit_test(every_time_prints_as_it_was_read),
        cmocka_unit_test(any_order_is_sorted),
        cmocka_unit_test(add_replaces_one_and_keeps_the_others),
        cmocka_unit_test(add_form_replaces_one_and_keeps_the_others),
        cmocka_unit_test(add_beside),
        cmocka_unit_test(add_to_itself),
        cmocka_unit_test(add_forms_to_itself),
        cmocka_unit_test(add_the_other_kind),
        cmocka_unit_test(misfits),
        cmocka_unit_test(misfits_of_forms),
        cmocka_unit_test(refusals),
        cmocka_unit_test(no_version),
        cmocka_unit_test(nul_bytes),
        cmocka_unit_test(twice),
        cmocka_unit_test(networks_twice),
        cmocka_unit_test(every_change_of_a_byte),
        cmocka_unit_test(every_truncation),
        cmocka_unit_test(long_lines),
        cmocka_unit_test(many_entries),
        cmocka_unit_test(long_names_of_many_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
