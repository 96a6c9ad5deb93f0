/* The guard around a network, and packed weights: right, cut, damaged, of another network. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "mlp_network.h"
#include "scratch_file.h"

enum { WORDS = 11, PAYLOAD = 8 * WORDS, BLOB = MLP_WEIGHTS_HEADER + PAYLOAD };

static const uint64_t layout = 0x0123456789abcdefu;

static void put(unsigned char *at, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        at[i] = (unsigned char)(number >> 8 * i);
}

/* Words 1, 2, a third, 4, 5, ...; the checksum as the format states it: of four, each of every fourth word. */
static void make_blob(unsigned char blob[BLOB], uint64_t third)
{
    const uint64_t start = 0xcbf29ce484222325u, factor = 0x100000001b3u;
    uint64_t hash = start;
    memset(blob, 0, BLOB);
    memcpy(blob, "MLPWTS2\n", 8);
    for (uint64_t i = 0; i < WORDS; i++)
        put(blob + MLP_WEIGHTS_HEADER + 8 * i, i == 2 ? third : i + 1);
    for (uint64_t lane = 0; lane < 4; lane++) {
        uint64_t part = start;
        for (uint64_t i = lane; i < WORDS; i += 4)
            part = (part ^ (i == 2 ? third : i + 1)) * factor;
        hash = (hash ^ part) * factor;
    }
    put(blob + 8, layout);
    put(blob + 16, PAYLOAD);
    put(blob + 24, hash);
}

static void guard(void **state)
{
    (void)state;
    static mlp_network network;
    assert_int_equal(mlp_enter(&network), MLP_NOT_READY);
    assert_non_null(strstr(network.error, "init"));
    assert_int_equal(mlp_enter_any(&network), MLP_OK);
    assert_int_equal(mlp_enter_any(&network), MLP_BUSY);
    network.ready = 1;
    assert_int_equal(mlp_enter(&network), MLP_BUSY);
    mlp_leave(&network);
    assert_int_equal(mlp_enter(&network), MLP_OK);
    mlp_leave(&network);
}

static void init_once(void **state)
{
    (void)state;
    static mlp_network network;
    assert_int_equal(mlp_enter_init(&network), MLP_OK);
    assert_int_equal(mlp_enter_init(&network), MLP_BUSY);
    network.ready = 1;
    mlp_leave(&network);
    assert_int_equal(mlp_enter_init(&network), MLP_BAD_ARGUMENT);
    assert_non_null(strstr(network.error, "init was called twice without close"));
    assert_int_equal(mlp_enter(&network), MLP_OK);
    mlp_leave(&network);
}

static mlp_network shared;
static int inside, entered, refused;

/* `inside` is not atomic on purpose: only the guard keeps the two threads apart. */
static void *contend(void *unused)
{
    for (int i = 0; i < 200000; i++) {
        if (mlp_enter(&shared) != MLP_OK) {
            __atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED);
            continue;
        }
        inside++;
        entered += inside == 1;
        inside--;
        mlp_leave(&shared);
    }
    return unused;
}

static void two_threads(void **state)
{
    (void)state;
    pthread_t thread;
    shared.ready = 1;
    assert_int_equal(pthread_create(&thread, NULL, contend, NULL), 0);
    contend(NULL);
    pthread_join(thread, NULL);
    assert_int_equal(entered + refused, 400000);
}

static void texts(void **state)
{
    (void)state;
    static mlp_network network;
    char text[1000];
    for (int status = MLP_OK; status <= MLP_DEVICE_FAILED; status++)
        assert_true(strlen(mlp_status_text((mlp_status)status)) > 1);
    assert_string_equal(mlp_status_text((mlp_status)99), "unknown status");
    assert_int_equal(mlp_fail(&network, MLP_BAD_ARGUMENT, "output %d", 3), MLP_BAD_ARGUMENT);
    assert_string_equal(
        network.error, "bad argument: a pointer is NULL, an index is out of range, or init was called twice: output 3");
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    mlp_fail(&network, MLP_NO_MEMORY, "%s", text);
    assert_int_equal(strlen(network.error), sizeof network.error - 1);
}

static mlp_status load(mlp_network *network, const void *bytes, size_t size)
{
    struct scratch_file file = scratch_write(bytes, size);
    mlp_status status = mlp_weights_load(network, file.path, PAYLOAD, layout);
    if (status != MLP_OK)
        assert_non_null(strstr(network->error, file.path));
    unlink(file.path);
    return status;
}

static void exchange(void **state)
{
    (void)state;
    static mlp_network network;
    unsigned char blob[BLOB];
    make_blob(blob, 3);
    assert_int_equal(load(&network, blob, BLOB), MLP_OK);
    assert_memory_equal(network.weights, blob + MLP_WEIGHTS_HEADER, PAYLOAD);
    assert_true((uintptr_t)network.weights % 256 == 0);
    make_blob(blob, 4);
    assert_int_equal(load(&network, blob, BLOB), MLP_OK);
    assert_int_equal(network.weights[16], 4);
    blob[MLP_WEIGHTS_HEADER]++;
    assert_int_equal(load(&network, blob, BLOB), MLP_WEIGHTS_MISMATCH);
    assert_int_equal(network.weights[16], 4);
    mlp_weights_unload(&network);
    assert_null(network.weights);
    mlp_weights_unload(&network);
}

static void every_bit_counts(void **state)
{
    (void)state;
    static mlp_network network;
    unsigned char blob[BLOB];
    make_blob(blob, 3);
    assert_int_equal(mlp_weights_check(&network, blob, BLOB, PAYLOAD, layout, "here"), MLP_OK);
    for (size_t bit = 0; bit < 8 * BLOB; bit++) {
        blob[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_int_equal(mlp_weights_check(&network, blob, BLOB, PAYLOAD, layout, "here"), MLP_WEIGHTS_MISMATCH);
        assert_non_null(strstr(network.error, "here: "));
        blob[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}

static void every_size_but_one_is_wrong(void **state)
{
    (void)state;
    static mlp_network network;
    unsigned char blob[BLOB + 8] = {0};
    make_blob(blob, 3);
    for (size_t size = 0; size <= BLOB + 8; size++) {
        mlp_status expected = size == BLOB ? MLP_OK : MLP_WEIGHTS_MISMATCH;
        assert_int_equal(mlp_weights_check(&network, blob, size, PAYLOAD, layout, "here"), expected);
        if (size % 16 == 0)
            assert_int_equal(load(&network, blob, size), MLP_WEIGHTS_MISMATCH);
    }
    assert_int_equal(mlp_weights_load(&network, "tests/no/such.weights", PAYLOAD, layout), MLP_WEIGHTS_UNREADABLE);
    assert_int_equal(mlp_weights_load(&network, "tests", PAYLOAD, layout), MLP_WEIGHTS_UNREADABLE);
    assert_null(network.weights);
}

/* Where weights as they were trained are given, or a file cut or packed for another network. */
static void what_is_wrong_with_the_file(void **state)
{
    (void)state;
    static mlp_network network;
    unsigned char blob[BLOB + 8] = {0};
    const char safetensors[] = "\x10\0\0\0\0\0\0\0{\"a\": {}        }";
    const char unpacked[] = ": not a packed weights file; mlpc --weights=external makes one";
    assert_int_equal(load(&network, safetensors, sizeof safetensors), MLP_WEIGHTS_MISMATCH);
    assert_non_null(strstr(network.error, unpacked));
    assert_int_equal(load(&network, blob, BLOB), MLP_WEIGHTS_MISMATCH);
    assert_non_null(strstr(network.error, unpacked));
    assert_int_equal(load(&network, blob, 0), MLP_WEIGHTS_MISMATCH);
    assert_non_null(strstr(network.error, unpacked));
    make_blob(blob, 3);
    assert_int_equal(load(&network, blob, 100), MLP_WEIGHTS_MISMATCH);
    assert_non_null(strstr(network.error, ": ends within its header"));
    assert_int_equal(load(&network, blob, BLOB + 8), MLP_WEIGHTS_MISMATCH);
    assert_non_null(strstr(network.error, ": holds 96 bytes of weights, this network has 88"));
    blob[8]++;
    assert_int_equal(load(&network, blob, BLOB), MLP_WEIGHTS_MISMATCH);
    assert_non_null(strstr(network.error, ": packed for another network (layout 0123456789abcdf0, "));
    assert_int_equal(mlp_weights_load(&network, NULL, PAYLOAD, layout), MLP_BAD_ARGUMENT);
    assert_non_null(strstr(network.error, "the path is NULL"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guard),
        cmocka_unit_test(init_once),
        cmocka_unit_test(two_threads),
        cmocka_unit_test(texts),
        cmocka_unit_test(exchange),
        cmocka_unit_test(every_bit_counts),
        cmocka_unit_test(every_size_but_one_is_wrong),
        cmocka_unit_test(what_is_wrong_with_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
