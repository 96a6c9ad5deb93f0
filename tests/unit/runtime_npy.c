/* .npy files: the cases of tests/cases/npy, damaged headers by the thousand, conversions, and writing that never
 * leaves half a file. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "mlp_number.h"
#include "npy.h"
#include "scratch_file.h"

static const char plain[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";

/* Version 1.0, 128 bytes of header with `text` in it, then data; returns the size. */
static size_t make(unsigned char *file, const char *text, const void *data, size_t bytes)
{
    memset(file, ' ', 128);
    memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
    memcpy(file + 10, text, strlen(text));
    file[127] = '\n';
    if (bytes)
        memcpy(file + 128, data, bytes);
    return 128 + bytes;
}

/* Parses a copy that ends where its block ends, so that a sanitizer sees every byte read too far. */
static mlp_npy_result parse(mlp_npy *npy, const unsigned char *bytes, size_t size, size_t file_size)
{
    unsigned char *exact = malloc(size ? size : 1);
    memcpy(exact, bytes, size);
    mlp_npy_result result = mlp_npy_parse(npy, exact, size, file_size);
    free(exact);
    return result;
}

/* ---- The cases ---- */

static void check_case(const char *name, const char *expect)
{
    char path[256];
    mlp_npy npy;
    float values[6] = {-1, -1, -1, -1, -1, -1};
    snprintf(path, sizeof path, "tests/cases/npy/%s.npy", name);
    mlp_npy_result result = mlp_npy_open(&npy, path);
    if (!strncmp(expect, "error", 5)) {
        assert_int_equal(result, MLP_NPY_WRONG);
        assert_true(npy.error[0] != 0);
        return;
    }
    if (result != MLP_NPY_OK)
        fail_msg("%s: %s", name, npy.error);
    assert_true(npy.rows * npy.width <= 6);
    assert_int_equal(mlp_npy_load(&npy, MLP_F32, values), MLP_NPY_OK);
    for (size_t i = 0; i < npy.rows * npy.width; i++)
        assert_true(values[i] == (float)i);
    mlp_npy_close(&npy);
}

static void cases(void **state)
{
    (void)state;
    char line[512], name[64], expect[256];
    int count = 0;
    FILE *index = fopen("tests/cases/npy/INDEX.tsv", "r");
    assert_non_null(index);
    while (fgets(line, sizeof line, index)) {
        if (sscanf(line, "%63[^\t]\t%*[^\t]\t%255[^\t]", name, expect) == 2 && strcmp(name, "file")) {
            check_case(name, expect);
            count++;
        }
    }
    fclose(index);
    assert_int_equal(count, 9);
}

/* ---- Headers ---- */

static void every_truncation(void **state)
{
    (void)state;
    float data[6] = {0};
    unsigned char file[256];
    size_t size = make(file, plain, data, sizeof data);
    mlp_npy npy;
    assert_int_equal(parse(&npy, file, size, size), MLP_NPY_OK);
    for (size_t cut = 0; cut < size; cut++) {
        assert_int_equal(parse(&npy, file, cut, cut), MLP_NPY_WRONG);
        assert_true(npy.error[0] != 0);
    }
}

/* Whatever a byte is changed to: an error with words, or an array that the data are enough for. */
static void every_change_of_a_byte(void **state)
{
    (void)state;
    float data[6] = {0};
    unsigned char file[256];
    size_t size = make(file, plain, data, sizeof data);
    for (size_t at = 0; at < 128; at++) {
        unsigned char kept = file[at];
        for (int byte = 0; byte < 256; byte++) {
            mlp_npy npy;
            file[at] = (unsigned char)byte;
            if (parse(&npy, file, size, size) == MLP_NPY_OK)
                assert_true(npy.offset + npy.rows * npy.width * mlp_npy_type_size(npy.type) == size);
            else
                assert_true(npy.error[0] != 0);
        }
        file[at] = kept;
    }
}

static void headers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t bytes;
        mlp_npy_result result;
        size_t rows, width;
    } table[] = {
        {"{'descr':'<f4','fortran_order':False,'shape':(3,)}", 12, MLP_NPY_OK, 1, 3},
        {"{\"descr\": \"<f8\", \"fortran_order\": True, \"shape\": (1, 1)}", 8, MLP_NPY_OK, 1, 1},
        {"{'descr': '=f2', 'fortran_order': False, 'shape': (2, 3)}", 12, MLP_NPY_OK, 2, 3},
        {"{'descr': '<V2', 'fortran_order': False, 'shape': (2, 3)}", 12, MLP_NPY_OK, 2, 3},
        {"{'descr': '|V2', 'fortran_order': False, 'shape': (2, 3)}", 12, MLP_NPY_OK, 2, 3},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9)}", 0, MLP_NPY_OK, 0, 9},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3)}", 24, MLP_NPY_WRONG, 0, 0},
        {"{'descr': '|f4', 'fortran_order': False, 'shape': (2, 3)}", 24, MLP_NPY_WRONG, 0, 0},
        {"{'descr': 'f4', 'fortran_order': False, 'shape': (2, 3)}", 24, MLP_NPY_WRONG, 0, 0},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3)}", 24, MLP_NPY_WRONG, 0, 0},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4, MLP_NPY_WRONG, 0, 0},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3)}", 12, MLP_NPY_WRONG, 0, 0},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 1)}", 24, MLP_NPY_WRONG, 0, 0},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'shape': (2, 3)}", 24, MLP_NPY_WRONG, 0, 0},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}", 24, MLP_NPY_WRONG, 0, 0},
        {"{'descr': '<f4', 'shape': (2, 3)}", 24, MLP_NPY_WRONG, 0, 0},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} x", 24, MLP_NPY_WRONG, 0, 0},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)", 24, MLP_NPY_WRONG, 0, 0},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", 25, MLP_NPY_WRONG, 0, 0},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", 20, MLP_NPY_WRONG, 0, 0},
        /* products that wrap to 0 and to 24 in 64 bits */
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 0, MLP_NPY_WRONG, 0, 0},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387910, 1)}", 24, MLP_NPY_WRONG, 0, 0},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551618, 3)}", 24, MLP_NPY_WRONG, 0, 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        static const unsigned char data[64];
        unsigned char file[256];
        mlp_npy npy;
        size_t size = make(file, table[i].text, data, table[i].bytes);
        if (parse(&npy, file, size, size) != table[i].result)
            fail_msg("%s: %s", table[i].text, npy.error);
        if (table[i].result == MLP_NPY_OK)
            assert_true(npy.rows == table[i].rows && npy.width == table[i].width);
    }
}

static void versions(void **state)
{
    (void)state;
    float data[6] = {0};
    unsigned char file[256], longer[256];
    size_t size = make(file, plain, data, sizeof data);
    for (int version = 0; version < 6; version++) {
        mlp_npy npy;
        memcpy(longer, "\x93NUMPY", 6);
        longer[6] = (unsigned char)version;
        longer[7] = 0;
        memcpy(longer + 8, "\x76\0\0\0", 4);
        memcpy(longer + 12, file + 10, size - 10);
        mlp_npy_result expected = version == 2 || version == 3 ? MLP_NPY_OK : MLP_NPY_WRONG;
        assert_int_equal(parse(&npy, longer, size + 2, size + 2), expected);
    }
}

/* ---- Loading ---- */

static void load_one(const char *descr, const void *data, size_t bytes, mlp_dtype dtype, void *to)
{
    unsigned char file[256];
    char text[118];
    mlp_npy npy;
    snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (1, 1)}", descr);
    struct scratch_file scratch = scratch_write(file, make(file, text, data, bytes));
    assert_int_equal(mlp_npy_open(&npy, scratch.path), MLP_NPY_OK);
    assert_int_equal(mlp_npy_load(&npy, dtype, to), MLP_NPY_OK);
    mlp_npy_close(&npy);
    unlink(scratch.path);
}

static void conversions(void **state)
{
    (void)state;
    double beside_tie = 1 + 0x1p-11 + 0x1p-40, large = 1e300;
    float tie = 1 + 0x1p-11f, f32;
    mlp_f16 f16, one = 0x3c00;
    mlp_bf16 bf16, three = 0x4040;
    load_one("<f8", &beside_tie, 8, MLP_F16, &f16);
    assert_int_equal(f16, 0x3c01);              /* by way of f32 it would be 0x3c00 */
    load_one("<f4", &tie, 4, MLP_F16, &f16);
    assert_int_equal(f16, 0x3c00);
    load_one("<f8", &large, 8, MLP_F32, &f32);
    assert_true(isinf(f32));
    load_one("<f2", &one, 2, MLP_BF16, &bf16);
    assert_int_equal(bf16, 0x3f80);
    load_one("<V2", &three, 2, MLP_F32, &f32);
    assert_true(f32 == 3);
    load_one(">f8", "\x40\x09\x21\xfb\x54\x44\x2d\x18", 8, MLP_F32, &f32);
    assert_true(f32 == (float)acos(-1));
    load_one(">V2", "\x40\x40", 2, MLP_BF16, &bf16);
    assert_int_equal(bf16, three);
}

static void no_such_file(void **state)
{
    (void)state;
    mlp_npy npy;
    assert_int_equal(mlp_npy_open(&npy, "tests/no/such/file.npy"), MLP_NPY_FAILED);
    assert_int_equal(mlp_npy_open(&npy, "tests"), MLP_NPY_FAILED);
    assert_int_equal(mlp_npy_open(&npy, "/dev/null"), MLP_NPY_FAILED);
}

/* ---- Writing ---- */

static void scratch_name(char path[64])
{
    snprintf(path, 64, "/tmp/mlpc_unit_npy_%ld.npy", (long)getpid());
}

static void write_and_read(void **state)
{
    (void)state;
    static const float data[2][3] = {{0, 1, 2}, {-3, INFINITY, 0.1f}};
    float back[2][3];
    char path[64];
    struct stat info;
    mlp_staged_file output;
    mlp_npy npy;
    scratch_name(path);
    assert_int_equal(mlp_npy_stage(&output, path, MLP_F32, 2, 3, data), MLP_NPY_OK);
    assert_int_equal(stat(path, &info), -1);
    assert_true(mlp_staged_commit(&output));
    mlp_staged_discard(&output);
    assert_int_equal(stat(path, &info), 0);
    assert_true(info.st_size % 64 == sizeof data && (info.st_mode & 0600) == 0600);
    assert_int_equal(mlp_npy_open(&npy, path), MLP_NPY_OK);
    assert_true(npy.rows == 2 && npy.width == 3 && npy.type == MLP_NPY_F4);
    assert_int_equal(mlp_npy_load(&npy, MLP_F32, back), MLP_NPY_OK);
    assert_memory_equal(back, data, sizeof data);
    mlp_npy_close(&npy);
    unlink(path);
}

static void types_written(void **state)
{
    (void)state;
    static const mlp_f16 data[2] = {0x3c00, 0x4000};
    static const mlp_npy_type types[] = {[MLP_F16] = MLP_NPY_F2, [MLP_BF16] = MLP_NPY_BF16};
    char path[64];
    scratch_name(path);
    for (mlp_dtype dtype = MLP_F16; dtype <= MLP_BF16; dtype++) {
        mlp_staged_file output;
        mlp_npy npy;
        assert_int_equal(mlp_npy_stage(&output, path, dtype, 2, 1, data), MLP_NPY_OK);
        assert_true(mlp_staged_commit(&output));
        mlp_staged_discard(&output);
        assert_int_equal(mlp_npy_open(&npy, path), MLP_NPY_OK);
        assert_true(npy.type == types[dtype] && npy.rows == 2 && npy.width == 1);
        mlp_npy_close(&npy);
    }
    unlink(path);
}

/* A disk that fills up, played by a limit on the size of files. */
static void full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    static float data[4096];
    struct rlimit limit, small;
    struct stat info;
    mlp_staged_file output;
    struct scratch_file old = scratch_write("old", 3);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = (struct rlimit){4096, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    mlp_npy_result result = mlp_npy_stage(&output, old.path, MLP_F32, 64, 64, data);
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_int_equal(result, MLP_NPY_FAILED);
    assert_true(output.error[0] != 0);
    char part[256];
    snprintf(part, sizeof part, "%s", output.part);
    mlp_staged_discard(&output);
    assert_int_equal(stat(part, &info), -1);
    assert_true(!stat(old.path, &info) && info.st_size == 3);
    unlink(old.path);
}

static void devices_and_links(void **state)
{
    (void)state;
    static const float data[64];
    char link[300];
    struct stat info;
    mlp_staged_file output;
    assert_int_equal(mlp_npy_stage(&output, "/dev/full", MLP_F32, 1, 64, data), MLP_NPY_FAILED);
    mlp_staged_discard(&output);
    assert_int_equal(mlp_npy_stage(&output, "/dev/null", MLP_F32, 1, 64, data), MLP_NPY_OK);
    assert_true(mlp_staged_commit(&output));
    mlp_staged_discard(&output);
    assert_true(!stat("/dev/null", &info) && S_ISCHR(info.st_mode));
    assert_int_equal(mlp_npy_stage(&output, "/no/such/folder/y.npy", MLP_F32, 1, 64, data), MLP_NPY_FAILED);
    mlp_staged_discard(&output);
    struct scratch_file old = scratch_write("old", 3);
    snprintf(link, sizeof link, "%s.link", old.path);
    assert_int_equal(symlink(old.path, link), 0);
    assert_int_equal(mlp_npy_stage(&output, link, MLP_F32, 1, 64, data), MLP_NPY_OK);
    assert_true(mlp_staged_commit(&output));
    mlp_staged_discard(&output);
    assert_true(!lstat(link, &info) && S_ISLNK(info.st_mode));
    assert_true(!stat(old.path, &info) && info.st_size == 128 + 256);
    unlink(link);
    unlink(old.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases),         cmocka_unit_test(every_truncation),
        cmocka_unit_test(every_change_of_a_byte), cmocka_unit_test(headers),
        cmocka_unit_test(versions),      cmocka_unit_test(conversions),
        cmocka_unit_test(no_such_file),  cmocka_unit_test(write_and_read),
        cmocka_unit_test(types_written), cmocka_unit_test(full_disk_leaves_the_old_file),
        cmocka_unit_test(devices_and_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
