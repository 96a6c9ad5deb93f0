/* The reader of safetensors files, against the files of tests/cases/safetensors, which say by INDEX.tsv what each must
 * do, and against files written here. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "convert.h"
#include "safetensors.h"
#include "scratch_file.h"

#define FOLDER "tests/cases/safetensors/"

static struct arena *arena;

static int begin(void **state)
{
    (void)state;
    arena = arena_new();
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

/* ---- The files of INDEX.tsv ---- */

static void check_line(const char *name, const char *expect)
{
    struct safetensors file;
    const char *message = NULL;
    const char *path = arena_format(arena, FOLDER "%s.safetensors", name);
    enum safetensors_result result = safetensors_open(arena, path, &file, &message);
    if (!strcmp(expect, "ok")) {
        if (result != SAFETENSORS_OK)
            fail_msg("%s was refused: %s", name, message);
    } else if (result != SAFETENSORS_BROKEN || !message || !*message) {
        fail_msg("%s gave %d", name, (int)result);
    }
    if (!strcmp(expect, "error naming the duplicate"))
        assert_non_null(strstr(message, "'w'"));
    safetensors_close(&file);
}

static void test_index(void **state)
{
    (void)state;
    char line[1024], name[128], expect[128];
    int files = 0;
    FILE *index = fopen(FOLDER "INDEX.tsv", "r");
    assert_non_null(index);
    assert_non_null(fgets(line, sizeof line, index));
    for (; fgets(line, sizeof line, index); files++) {
        assert_int_equal(sscanf(line, "%127[^\t]\t%*[^\t]\t%127[^\t]", name, expect), 2);
        check_line(name, expect);
    }
    fclose(index);
    assert_int_equal(files, 28);
}

/* The tensors of the small good files count upwards from `first`. */
static const struct {
    const char *file, *tensor;
    int rank;
    int64_t shape[2];
    int first;
} counting[] = {
    {"ok_header_unpadded_data_at_odd_offset", "a_", 2, {2, 3}, 0},
    {"ok_metadata", "w", 2, {2, 3}, 0},
    {"ok_zero_dim", "w", 2, {2, 3}, 0},
    {"ok_zero_dim", "e", 2, {0, 4}, 0},
    {"ok_zero_dim_last", "w", 2, {2, 3}, 0},
    {"ok_zero_dim_last", "e", 1, {0}, 0},
    {"ok_header_order_differs", "a", 2, {2, 3}, 0},
    {"ok_header_order_differs", "b", 2, {2, 3}, 10},
    {"ok_key_order_and_spaces", "w", 2, {2, 3}, 0},
};

static const struct tensor *open_case(const char *name, const char *tensor, struct safetensors *file)
{
    const char *message, *path = arena_format(arena, FOLDER "%s.safetensors", name);
    assert_int_equal(safetensors_open(arena, path, file, &message), SAFETENSORS_OK);
    const struct tensor *found = safetensors_find(file, tensor);
    assert_non_null(found);
    return found;
}

static void test_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof counting / sizeof *counting; i++) {
        struct safetensors file;
        const struct tensor *tensor = open_case(counting[i].file, counting[i].tensor, &file);
        size_t count = 1;
        assert_string_equal(tensor->dtype, "F32");
        assert_int_equal(tensor->rank, counting[i].rank);
        for (int j = 0; j < tensor->rank; j++) {
            assert_int_equal(tensor->shape[j], counting[i].shape[j]);
            count *= (size_t)tensor->shape[j];
        }
        assert_int_equal(tensor->bytes, 4 * count);
        for (size_t j = 0; j < count; j++) {
            float value;
            memcpy(&value, tensor->data + 4 * j, 4);
            assert_true(value == (float)(counting[i].first + (int)j));
        }
        safetensors_close(&file);
    }
}

static void test_metadata_is_no_tensor(void **state)
{
    (void)state;
    struct safetensors file;
    open_case("ok_metadata", "w", &file);
    assert_int_equal(file.count, 1);
    assert_null(safetensors_find(&file, "__metadata__"));
    assert_null(safetensors_find(&file, "v"));
    safetensors_close(&file);
}

/* What the bits of a half mean, by the formula of IEEE 754. */
static double half_by_formula(unsigned bits)
{
    int exponent = (int)(bits >> 10 & 0x1f), fraction = (int)(bits & 0x3ff);
    double magnitude = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    if (exponent == 31)
        magnitude = fraction ? NAN : INFINITY;
    return bits >> 15 ? -magnitude : magnitude;
}

static void test_all_halves(void **state)
{
    (void)state;
    struct safetensors file;
    static double values[65536];
    bool seen[65536] = {false};
    const struct tensor *tensor = open_case("ok_f16_all_bits", "w", &file);
    assert_int_equal(tensor->bytes, 131072);
    convert_load(values, tensor->data, 65536, STORED_F16);
    for (unsigned i = 0; i < 65536; i++) {
        unsigned bits = tensor->data[2 * i] | (unsigned)tensor->data[2 * i + 1] << 8;
        double expected = half_by_formula(bits);
        seen[bits] = true;
        assert_true(isnan(expected) ? isnan(values[i]) : values[i] == expected);
        assert_true(isnan(expected) || !signbit(values[i]) == !(bits >> 15));
    }
    for (unsigned i = 0; i < 65536; i++)
        assert_true(seen[i]);
    safetensors_close(&file);
}

static void test_bfloat_exponents(void **state)
{
    (void)state;
    struct safetensors file;
    double values[2048];
    bool seen[256] = {false};
    const struct tensor *tensor = open_case("ok_bf16_all_exponents", "w", &file);
    assert_int_equal(tensor->bytes, 4096);
    convert_load(values, tensor->data, 2048, STORED_BF16);
    for (unsigned i = 0; i < 2048; i++) {
        uint32_t bits = (tensor->data[2 * i] | (uint32_t)tensor->data[2 * i + 1] << 8) << 16;
        float expected;
        memcpy(&expected, &bits, 4);
        seen[bits >> 23 & 0xff] = true;
        assert_true(isnan(expected) ? isnan(values[i]) : values[i] == (double)expected);
    }
    for (unsigned i = 0; i < 256; i++)
        assert_true(seen[i]);
    safetensors_close(&file);
}

/* ---- Files written here ---- */

static const char *message_of(struct scratch_file scratch, enum safetensors_result expected)
{
    struct safetensors file;
    const char *message = "";
    enum safetensors_result result = safetensors_open(arena, scratch.path, &file, &message);
    unlink(scratch.path);
    if (result != expected)
        fail_msg("result %d: %s", (int)result, message);
    safetensors_close(&file);
    return message;
}

#define F32(name, shape, offsets) \
    "\"" name "\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static const unsigned char zeros[64];

/* Headers in front of 8 bytes of data, and what the message must say; NULL: the file is good. */
static const struct {
    const char *header, *says;
} headers[] = {
    {"{" F32("w", "[2]", "[0,8]") "}", NULL},
    {"{" F32("w", "[2]", "[0,8]") "} \n\t ", NULL},
    {"{" F32("", "[2]", "[0,8]") "}", NULL},
    {"{" F32("w", "[1]", "[0,4]") "," F32("v", "[]", "[4,8]") "}", NULL},
    {"{" F32("w", "[1]", "[4,8]") "," F32("v", "[1]", "[0,4]") "," F32("e", "[0]", "[4,4]") "}", NULL},
    {"{\"w\":{\"dtype\":\"F4\",\"shape\":[16],\"data_offsets\":[0,8]}}", NULL},
    {"{\"w\":{\"dtype\":\"C64\",\"shape\":[1],\"data_offsets\":[0,8]}}", NULL},
    {"{\"__metadata__\":{\"a\":\"nul \\u0000\"}," F32("w", "[2]", "[0,8]") "}", NULL},
    {"{\"w\":{\"dtype\":\"F4\",\"shape\":[15],\"data_offsets\":[0,8]}}", "whole byte"},
    {"{\"w\":{\"dtype\":\"F6_E2M3\",\"shape\":[10],\"data_offsets\":[0,8]}}", "whole byte"},
    {" {" F32("w", "[2]", "[0,8]") "}", "begin with '{'"},
    {"[]", "begin with '{'"},
    {"{" F32("w", "[2]", "[0,8]") "} x", "JSON"},
    {"{" F32("w", "[2]", "[0,8]"), "JSON"},
    {"{" F32("w", "[2]", "[0,8]") ",}", "JSON"},
    {"{\"w\":[]}", "'w'"},
    {"{\"w\":{\"shape\":[2],\"data_offsets\":[0,8]}}", "no 'dtype'"},
    {"{\"w\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", "no 'shape'"},
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2]}}", "no 'data_offsets'"},
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"x\":1}}", "besides"},
    {"{\"w\":{\"dtype\":7,\"shape\":[2],\"data_offsets\":[0,8]}}", "'dtype'"},
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8]}}", "'shape'"},
    {"{\"w\":{\"dtype\":\"F33\",\"shape\":[2],\"data_offsets\":[0,8]}}", "'F33'"},
    {"{" F32("w", "[2.0]", "[0,8]") "}", "'shape'"},
    {"{" F32("w", "[2]", "[0,9]") "}", "the file holds 8"},
    {"{" F32("w", "[1]", "[4,8]") "}", "4 bytes in front of tensor 'w'"},
    {"{" F32("w", "[1]", "[0,4]") "}", "4 bytes at its end"},
    {"{" F32("w", "[1]", "[0,4]") "," F32("v", "[2]", "[0,8]") "}", "'w' and 'v' overlap"},
    {"{" F32("w", "[4294967296,4294967296]", "[0,8]") "}", "64 bits"},
    {"{" F32("w", "[2305843009213693952,4]", "[0,8]") "}", "64 bits"},
    {"{" F32("w", "[99999999999999999999]", "[0,8]") "}", "JSON"},
    {"{\"__metadata__\":{\"a\":1}," F32("w", "[2]", "[0,8]") "}", "__metadata__"},
    {"{\"__metadata__\":\"a\"," F32("w", "[2]", "[0,8]") "}", "__metadata__"},
    {"{\"\xff\":1}", "JSON"},
    {"{}", "8 bytes at its end"},
    {"{\"q\\\\\\\"\":1, \"q\\\\\\\"\" :2}", "'q\\\"' stands twice"},
    {"{\"\":1,\"\":2}", "'' stands twice"},
    {"{\"w\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", "'dtype' stands twice"},
    {"{\"a.tensor.name.longer.than.twenty\":1,\"a.tensor.name.longer.than.twenty\":2}",
     "'a.tensor.name.longer.than.twenty' stands twice"},
    {"{\"\\u0061\\n\\ud83d\\uDE00\\/\":1,\"b\":1,\"a\\u000A\xf0\x9f\x98\x80/\":2}", "stands twice"},
    {"{\"\\u00e9\":1,\"\xc3\xa9\":2}", "'\xc3\xa9' stands twice"},
    {"{\"b\":1,\"a\":1,\"b\":1,\"a\":1}", "'b' stands twice"},
    {"{\"a\":1,\"a\":1,", "'a' stands twice"},
    {"{\"b\":{\"x\":1,\"x\":1},\"a\":1,\"a\":1}", "'x' stands twice"},
    {"{\"b\":1,\"a\":1,\"ab\":1,\"\":1,\"b\\\"\":1}", "tensor 'b' is not described by an object"},
    {"{\"__metadata__\":{\"a\":\"\",\"\\u0061\":\"\"}," F32("w", "[2]", "[0,8]") "}", "'a' stands twice"},
    {"{\"__metadata__\":{\"w\":\"\"}," F32("w", "[2]", "[0,8]") "}", NULL},
    {"{\"__metadata__\":{}," F32("w", "[2]", "[0,8]") ",\"__metadata__\":{}}", "'__metadata__' stands twice"},
    {"{\"__metadata__\":{\"a\":\"\",}," F32("w", "[2]", "[0,8]") "}", "string or '}' expected near '}' (byte 25)"},
    {"{\"w\":1,x", "string or '}' expected near 'x' (byte 8)"},
    {"{\"w\" \"v\":1}", "':' expected near '\"v\"' (byte 8)"},
    {"{\"w\":1 \"\n\":1}", "unexpected newline near '\"' (byte 8)"},
    {"{\"w\":1 \xff", "unable to decode byte 0xff (byte 7)"},
    {"{\"w\":1", "'}' expected near end of file (byte 6)"},
    {"{\"w\":[1,]}", "near ']' (byte 9)"},
    {"{\"w\\u0000\":1}", "NUL byte in object key not supported near '\"w\\u0000\"' (byte 10)"},
    {"{" F32("w", "[2]", "[0,8]") "} 12", "end of file expected near '12' (byte 57)"},
    {"{" F32("w", "[0,1,2,3,4,5,6,7,8,4611686018427387904]", "[0,8]") "}", "needs 0 bytes"},
    {"{" F32("w", "[1,1,1,1,1,1,1,1,1,-2]", "[0,8]") "}", "'shape'"},
};

static void test_headers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        const char *says = headers[i].says;
        struct scratch_file file = scratch_safetensors(headers[i].header, zeros, 8);
        const char *message = message_of(file, says ? SAFETENSORS_BROKEN : SAFETENSORS_OK);
        if (says && !strstr(message, says))
            fail_msg("header %s gives: %s", headers[i].header, message);
    }
}

static void test_empty_object(void **state)
{
    (void)state;
    message_of(scratch_safetensors("{}", NULL, 0), SAFETENSORS_OK);
}

static void test_header_lengths(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {0, 1, 3, 100000001, UINT64_C(1) << 32, INT64_MAX, UINT64_MAX - 7, UINT64_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const char *message = message_of(scratch_safetensors_claiming(lengths[i], "{}", NULL, 0), SAFETENSORS_BROKEN);
        assert_non_null(strstr(message, lengths[i] > 2 ? "header claims" : "header"));
    }
    for (size_t bytes = 0; bytes <= 8; bytes++)
        message_of(scratch_write(zeros, bytes), SAFETENSORS_BROKEN);
}

/* Every file that is cut short is refused: its header or its last tensor ends too early. */
static void test_cut_files(void **state)
{
    (void)state;
    const char *header = "{" F32("w", "[2]", "[0,8]") "}";
    unsigned char bytes[128] = {(unsigned char)strlen(header)};
    size_t total = 8 + strlen(header) + 8;
    memcpy(bytes + 8, header, strlen(header));
    message_of(scratch_write(bytes, total), SAFETENSORS_OK);
    for (size_t i = 0; i < total; i++)
        message_of(scratch_write(bytes, i), SAFETENSORS_BROKEN);
}

static void test_deep_nesting(void **state)
{
    (void)state;
    enum { DEPTH = 1000000 };
    char *header = malloc(DEPTH + 1);
    memset(header, '[', DEPTH);
    header[DEPTH] = 0;
    memcpy(header, "{\"a\":", 5);
    assert_non_null(strstr(message_of(scratch_safetensors(header, NULL, 0), SAFETENSORS_BROKEN), "depth"));
    free(header);
}

static void test_long_name(void **state)
{
    (void)state;
    char name[5001];
    memset(name, 'n', 5000);
    name[5000] = 0;
    const char *entry = arena_format(arena, "{\"%s\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", name);
    struct scratch_file scratch = scratch_safetensors(entry, zeros, 8);
    struct safetensors file;
    const char *message;
    assert_int_equal(safetensors_open(arena, scratch.path, &file, &message), SAFETENSORS_OK);
    unlink(scratch.path);
    assert_non_null(safetensors_find(&file, name));
    safetensors_close(&file);
}

/* Headers with blanks in the middle: so long may a part be, and no longer. */
static void test_long_parts(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after;
        int taken;                  /* by the part besides the blanks */
        const char *says;           /* where there is one more */
    } parts[] = {
        {"{\"w\":{", "\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 48,
         "what its header says of 'w' has more than 65536 bytes"},
        {"{\"__metadata__\":{\"", "\":\"\"}," F32("w", "[2]", "[0,8]") "}", 2,
         "a name in its header has more than 65536 bytes"},
        {"{\"__metadata__\":{\"a\":\"", "\"}," F32("w", "[2]", "[0,8]") "}", 0, NULL},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const int most = 65536 - parts[i].taken;
        const char *good = arena_format(arena, "%s%*s%s", parts[i].before, most, "", parts[i].after);
        message_of(scratch_safetensors(good, zeros, 8), SAFETENSORS_OK);
        const char *longer = arena_format(arena, "%s%*s%s", parts[i].before, most + 1, "", parts[i].after);
        const char *message = message_of(scratch_safetensors(longer, zeros, 8),
                                         parts[i].says ? SAFETENSORS_BROKEN : SAFETENSORS_OK);
        if (parts[i].says)
            assert_string_equal(message, parts[i].says);
    }
}

static void test_names_are_utf8(void **state)
{
    (void)state;
    const char *header = "{" F32("\\u6743\\u91cd", "[1]", "[0,4]") "," F32("tab\\tq\\\"", "[1]", "[4,8]") "}";
    struct scratch_file scratch = scratch_safetensors(header, zeros, 8);
    struct safetensors file;
    const char *message;
    assert_int_equal(safetensors_open(arena, scratch.path, &file, &message), SAFETENSORS_OK);
    unlink(scratch.path);
    assert_non_null(safetensors_find(&file, "权重"));
    assert_non_null(safetensors_find(&file, "tab\tq\""));
    safetensors_close(&file);
}

static void test_unreadable(void **state)
{
    (void)state;
    struct safetensors file;
    const char *message = NULL;
    assert_int_equal(safetensors_open(arena, "tests", &file, &message), SAFETENSORS_UNREADABLE);
    assert_non_null(message);
    assert_int_equal(safetensors_open(arena, "tests/no_such_file", &file, &message), SAFETENSORS_UNREADABLE);
    assert_int_equal(safetensors_open(arena, "/dev/null", &file, &message), SAFETENSORS_UNREADABLE);
    struct scratch_file locked = scratch_write("", 0);
    unlink(locked.path);
    assert_int_equal(mkfifo(locked.path, 0600), 0);
    assert_int_equal(safetensors_open(arena, locked.path, &file, &message), SAFETENSORS_UNREADABLE);
    unlink(locked.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_index, begin, end),
        cmocka_unit_test_setup_teardown(test_values, begin, end),
        cmocka_unit_test_setup_teardown(test_metadata_is_no_tensor, begin, end),
        cmocka_unit_test_setup_teardown(test_all_halves, begin, end),
        cmocka_unit_test_setup_teardown(test_bfloat_exponents, begin, end),
        cmocka_unit_test_setup_teardown(test_headers, begin, end),
        cmocka_unit_test_setup_teardown(test_empty_object, begin, end),
        cmocka_unit_test_setup_teardown(test_header_lengths, begin, end),
        cmocka_unit_test_setup_teardown(test_cut_files, begin, end),
        cmocka_unit_test_setup_teardown(test_deep_nesting, begin, end),
        cmocka_unit_test_setup_teardown(test_long_name, begin, end),
        cmocka_unit_test_setup_teardown(test_long_parts, begin, end),
        cmocka_unit_test_setup_teardown(test_names_are_utf8, begin, end),
        cmocka_unit_test_setup_teardown(test_unreadable, begin, end),
    };
    return cmocka_run_group_tests_name("safetensors", tests, NULL, NULL);
}
