/* A C++ program with two networks in it: `digits`, and `two_tower`, which has two inputs. It also holds the library to
 * its word: statuses for wrong calls, and two threads in one network. */
#include <atomic>
#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>

#include "digits.h"
#include "two_tower.h"

static int failures = 0;

static void expect(bool right, const char *what)
{
    if (!right) {
        std::fprintf(stderr, "not so: %s\n", what);
        failures++;
    }
}

/* Calls digits_run again and again; a call either gets the answer or is told that the network is busy. */
static void work(const std::vector<float> &pixels, const std::vector<float> &answer, std::atomic<int> &wrong)
{
    std::vector<float> got(answer.size());
    for (int turn = 0; turn < 300; turn++) {
        mlp_status status = digits_run(answer.size() / digits_y_WIDTH, pixels.data(), got.data());
        if (status == MLP_OK ? got != answer : status != MLP_BUSY)
            wrong++;
    }
}

static void two_threads()
{
    const std::size_t rows = 500;
    std::vector<float> pixels(rows * digits_x_WIDTH), answer(rows * digits_y_WIDTH);
    std::atomic<int> wrong(0);
    for (std::size_t i = 0; i < pixels.size(); i++)
        pixels[i] = float(i * 7 % 17) / 16;
    expect(digits_run(rows, pixels.data(), answer.data()) == MLP_OK, "500 rows over batches of 360 are MLP_OK");
    std::thread first(work, std::cref(pixels), std::cref(answer), std::ref(wrong));
    std::thread second(work, std::cref(pixels), std::cref(answer), std::ref(wrong));
    first.join();
    second.join();
    expect(wrong == 0, "a call beside another gets MLP_OK with the same bits, or MLP_BUSY");
}

int main()
{
    float pixels[digits_x_WIDTH] = {0}, answer[digits_y_WIDTH];
    float a[two_tower_a_WIDTH] = {1}, product[two_tower_y_WIDTH];

    expect(digits_run(1, pixels, answer) == MLP_NOT_READY, "run before init is MLP_NOT_READY");
    expect(digits_init(nullptr) == MLP_OK && two_tower_init(nullptr) == MLP_OK, "init is MLP_OK");
    expect(digits_run(1, nullptr, answer) == MLP_BAD_ARGUMENT, "a null pointer is MLP_BAD_ARGUMENT");
    expect(digits_run(0, pixels, answer) == MLP_OK, "no rows are MLP_OK");
    expect(digits_load_weights("no/such/file") == MLP_WEIGHTS_UNREADABLE, "a missing file is MLP_WEIGHTS_UNREADABLE");
    expect(digits_run(1, pixels, answer) == MLP_OK, "run is MLP_OK after a failed load_weights");
    float sum = 0;
    for (float part : answer)
        sum += part;
    expect(std::fabs(sum - 1) < 1e-6f, "probabilities sum to 1");
    expect(two_tower_run(1, a, a, product) == MLP_OK, "two inputs are MLP_OK");
    for (float part : product)
        expect(part >= -0.25f, "t * t - t is at least -1/4");
    expect(digits_model.input_count == 1 && two_tower_model.input_count == 2, "the models describe their inputs");
    two_threads();
    digits_close();
    two_tower_close();
    expect(digits_run(1, pixels, answer) == MLP_NOT_READY, "run after close is MLP_NOT_READY");
    return failures ? 1 : 0;
}
