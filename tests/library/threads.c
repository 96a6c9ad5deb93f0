/* Two libraries under threads, digits (for two threads, with its weights in files) and two_tower:
 *
 *     threads OLD.weights NEW.weights CALLS
 *
 * Each call has its result, the bits that the same rows have where one thread is alone, or MLP_BUSY and nothing at all.
 * A result is that of the old weights or of the new ones, never of both. Where it is built with ThreadSanitizer, no
 * access races. Prints what does not hold, and how many calls had which outcome. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "digits.h"
#include "two_tower.h"

enum { X = digits_x_WIDTH, Y = digits_y_WIDTH, TOWER = two_tower_a_WIDTH, TOWER_Y = two_tower_y_WIDTH };
/* One thread's work; shared out by columns; by rows, through several chunks. */
enum { COUNTS = 3, MOST_ROWS = 150 };
static const size_t row_counts[COUNTS] = {1, 6, MOST_ROWS};

static const char *old_weights, *new_weights;
static int calls;
static float x[MOST_ROWS * X], with_old[MOST_ROWS * Y], with_new[MOST_ROWS * Y];
static float a[MOST_ROWS * TOWER], b[MOST_ROWS * TOWER], tower[MOST_ROWS * TOWER_Y];
static const float untouched = -12345;
static atomic_int broken, changing; /* changing: threads that change the network */

static void holds(int condition, const char *what)
{
    if (condition)
        return;
    broken = 1;
    printf("does not hold: %s\n", what);
}

static void fill(float *numbers, size_t count, unsigned state)
{
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        numbers[i] = (float)(state >> 8) / (float)(1 << 24);
    }
}

/* ---- Outcomes ---- */

enum outcome { DONE_OLD, DONE_NEW, BUSY, CLOSED, WRONG, OUTCOMES };
static const char *const outcome_names[] = {"the old weights", "the new weights", "busy", "closed", "wrong"};

struct tally {
    int of[OUTCOMES];
};

static void print(const char *name, const struct tally *tallies, size_t count)
{
    printf("%s:", name);
    for (int i = 0; i < OUTCOMES; i++) {
        int sum = 0;
        for (size_t j = 0; j < count; j++)
            sum += tallies[j].of[i];
        printf(" %d %s%s", sum, outcome_names[i], i + 1 < OUTCOMES ? "," : "\n");
    }
}

static int sum_of(const struct tally *tallies, size_t count, enum outcome outcome)
{
    int sum = 0;
    for (size_t j = 0; j < count; j++)
        sum += tallies[j].of[outcome];
    return sum;
}

static int all_untouched(const float *y, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (y[i] != untouched)
            return 0;
    return 1;
}

/* One call of digits, by what came of it. */
static enum outcome call_digits(size_t rows)
{
    float y[(MOST_ROWS + 1) * Y];
    const size_t count = rows * Y;
    for (size_t i = 0; i < count + Y; i++)
        y[i] = untouched;
    const mlp_status status = digits_run(rows, x, y);
    if (!all_untouched(y + count, Y))
        return WRONG;
    if (status != MLP_OK)
        return !all_untouched(y, count) ? WRONG : status == MLP_BUSY ? BUSY : status == MLP_NOT_READY ? CLOSED : WRONG;
    if (!memcmp(y, with_old, count * sizeof *y))
        return DONE_OLD;
    return memcmp(y, with_new, count * sizeof *y) ? WRONG : DONE_NEW;
}

/* How often, by all threads, ever. */
static atomic_long seen[OUTCOMES];

/* Who has changed something waits until another thread has met it. */
static void wait_for(enum outcome outcome)
{
    const long before = atomic_load(&seen[outcome]);
    while (atomic_load(&seen[outcome]) == before && !atomic_load(&seen[WRONG]))
        sched_yield();
}

/* Until all calls that change the network have been made, and `calls` of this thread had an end. Who is refused lets
 * others go on. */
static void *run_digits(void *argument)
{
    struct tally *tally = (struct tally *)argument;
    for (int done = 0; done < calls || atomic_load(&changing);) {
        const enum outcome outcome = call_digits(row_counts[done % COUNTS]);
        tally->of[outcome]++;
        atomic_fetch_add(&seen[outcome], 1);
        done += outcome != BUSY;
        if (atomic_load(&changing))
            usleep(1);              /* or a thread that wants to change it would rarely come in */
        else if (outcome == BUSY)
            sched_yield();
    }
    return NULL;
}

static void *run_towers(void *argument)
{
    struct tally *tally = (struct tally *)argument;
    for (int i = 0; i < calls; i++) {
        float y[MOST_ROWS * TOWER_Y];
        const size_t rows = row_counts[i % COUNTS];
        const mlp_status status = two_tower_run(rows, a, b, y);
        const int right = status == MLP_OK && !memcmp(y, tower, rows * TOWER_Y * sizeof *y);
        tally->of[right ? DONE_OLD : WRONG]++;
    }
    return NULL;
}

enum { MOST_THREADS = 4 };
typedef void *body(void *argument);

/* Each thread has its place in `tallies`; the last `changers` change the network. */
static void together(const char *name, body *const *bodies, size_t count, int changers, struct tally *tallies)
{
    pthread_t threads[MOST_THREADS];
    atomic_store(&changing, changers);
    memset(tallies, 0, count * sizeof *tallies);
    for (size_t i = 0; i < count; i++)
        holds(!pthread_create(&threads[i], NULL, bodies[i], &tallies[i]), "a thread starts");
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    print(name, tallies, count);
    holds(!sum_of(tallies, count, WRONG), name);
}

/* ---- What each call has where it is alone ---- */

static void alone(void)
{
    const mlp_options options = {.weights = old_weights};
    const mlp_options single = {.weights = new_weights, .threads = 1};
    fill(x, MOST_ROWS * X, 1);
    fill(a, MOST_ROWS * TOWER, 2);
    fill(b, MOST_ROWS * TOWER, 3);
    holds(digits_init(&single) == MLP_OK && digits_run(MOST_ROWS, x, with_new) == MLP_OK, "the new weights");
    digits_close();
    holds(digits_init(&options) == MLP_OK && digits_run(MOST_ROWS, x, with_old) == MLP_OK, "the old weights");
    holds(two_tower_init(NULL) == MLP_OK && two_tower_run(MOST_ROWS, a, b, tower) == MLP_OK, "the towers");
    for (size_t row = 0; row < MOST_ROWS; row++)
        holds(memcmp(with_old + row * Y, with_new + row * Y, Y * sizeof *x) != 0, "each row tells the weights apart");
}

/* ---- One thread stopped inside, at a page that it may not read ---- */

static struct {
    float *page;
    size_t bytes;
    atomic_int inside, go_on;
} stop;

static void stop_here(int number)
{
    (void)number;
    atomic_store(&stop.inside, 1);
    while (!atomic_load(&stop.go_on))
        sched_yield();
    mprotect(stop.page, stop.bytes, PROT_READ);
}

static void *run_into_the_page(void *argument)
{
    float *y = (float *)argument;
    holds(digits_run(1, stop.page, y) == MLP_OK, "the thread inside goes on to MLP_OK");
    return NULL;
}

static void try_all_calls(void)
{
    float y[Y];
    const void *from[] = {x};
    void *to[] = {y};
    for (size_t i = 0; i < Y; i++)
        y[i] = untouched;
    holds(digits_run(1, x, y) == MLP_BUSY, "run beside a thread inside is MLP_BUSY");
    holds(digits_run(0, NULL, NULL) == MLP_BUSY, "so is run of no rows");
    holds(digits_load_weights(new_weights) == MLP_BUSY, "so is load_weights");
    holds(digits_load_weights(NULL) == MLP_BUSY, "so is load_weights of nothing");
    holds(digits_init(NULL) == MLP_BUSY, "so is init");
    holds(digits_model.begin(1, from, to) == MLP_BUSY, "so is begin");
    digits_close();
    holds(all_untouched(y, Y), "nothing was written");
}

static void test_stopped_inside(void)
{
    const mlp_options options = {.weights = old_weights, .threads = 1};
    struct sigaction stopping = {.sa_handler = stop_here}, before;
    float y[Y];
    pthread_t thread;
    stop.bytes = (size_t)sysconf(_SC_PAGESIZE);
    stop.page = (float *)mmap(NULL, stop.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    holds(stop.page != MAP_FAILED, "there is a page");
    memcpy(stop.page, x, X * sizeof *x);
    mprotect(stop.page, stop.bytes, PROT_NONE);
    digits_close();
    holds(digits_init(&options) == MLP_OK, "init with one thread");
    sigaction(SIGSEGV, &stopping, &before);
    pthread_create(&thread, NULL, run_into_the_page, y);
    while (!atomic_load(&stop.inside))
        sched_yield();
    try_all_calls();
    atomic_store(&stop.go_on, 1);
    pthread_join(thread, NULL);
    sigaction(SIGSEGV, &before, NULL);
    holds(!memcmp(y, with_old, sizeof y), "its result is that of the old weights");
    holds(call_digits(1) == DONE_OLD, "the network is as it was: close beside it did nothing");
    munmap(stop.page, stop.bytes);
    digits_close();
}

/* ---- Threads at large ---- */

static void test_two_networks(void)
{
    struct tally tallies[2];
    together("two networks, a thread each", (body *[]){run_digits, run_towers}, 2, 0, tallies);
    holds(tallies[0].of[DONE_OLD] == calls && tallies[1].of[DONE_OLD] == calls, "a network keeps no other one waiting");
}

static void test_one_network(void)
{
    struct tally tallies[MOST_THREADS];
    together("one network, four threads", (body *[]){run_digits, run_digits, run_digits, run_digits}, 4, 0,
             tallies);
    holds(sum_of(tallies, 4, DONE_OLD) == 4 * calls, "each thread had its results, of the old weights");
    holds(sum_of(tallies, 4, BUSY) > 0, "some calls met others");
}

/* MLP_OK by and by. A file that is no weights changes nothing. */
static void load(struct tally *tally, const char *path, enum outcome outcome, mlp_status expected)
{
    mlp_status status;
    while ((status = digits_load_weights(path)) == MLP_BUSY)
        sched_yield();
    tally->of[status == expected ? outcome : WRONG]++;
}

static void *exchange(void *argument)
{
    struct tally *tally = (struct tally *)argument;
    for (int i = 0; i < calls / 4; i++) {
        load(tally, new_weights, DONE_NEW, MLP_OK);
        wait_for(DONE_NEW);
        load(tally, "/dev/null", CLOSED, MLP_WEIGHTS_UNREADABLE);
        load(tally, old_weights, DONE_OLD, MLP_OK);
        wait_for(DONE_OLD);
    }
    atomic_fetch_sub(&changing, 1);
    return NULL;
}

static void test_exchange(void)
{
    struct tally tallies[3];
    together("weights exchanged beside two threads", (body *[]){run_digits, run_digits, exchange}, 3, 1, tallies);
    holds(sum_of(tallies, 2, DONE_OLD) > 0 && sum_of(tallies, 2, DONE_NEW) > 0, "both weights were seen");
}

/* A call that no other one refuses. */
static mlp_status init_by_and_by(const mlp_options *options)
{
    mlp_status status;
    while ((status = digits_init(options)) == MLP_BUSY)
        sched_yield();
    return status;
}

static void close_by_and_by(void)
{
    do {
        digits_close();
        sched_yield();
    } while (digits_run(0, NULL, NULL) != MLP_NOT_READY);
}

static void *open_and_close(void *argument)
{
    struct tally *tally = (struct tally *)argument;
    for (int i = 0; i < calls / 4; i++) {
        const mlp_options options = {.weights = i % 2 ? old_weights : new_weights, .threads = 1 + i / 2 % 2};
        close_by_and_by();
        wait_for(CLOSED);
        tally->of[init_by_and_by(&options) != MLP_OK ? WRONG : i % 2 ? DONE_OLD : DONE_NEW]++;
        tally->of[init_by_and_by(&options) != MLP_BAD_ARGUMENT ? WRONG : CLOSED]++;
        wait_for(i % 2 ? DONE_OLD : DONE_NEW);
    }
    atomic_fetch_sub(&changing, 1);
    return NULL;
}

static void test_life(void)
{
    struct tally tallies[3];
    together("init and close beside two threads", (body *[]){run_digits, run_digits, open_and_close}, 3, 1, tallies);
    holds(sum_of(tallies, 2, CLOSED) > 0, "a closed network was seen");
    digits_close();
    holds(digits_run(1, x, with_old) == MLP_NOT_READY, "the network ends closed");
}

int main(int argc, char **argv)
{
    const mlp_options options = {.weights = argc > 1 ? argv[1] : NULL};
    if (argc != 4)
        return 2;
    old_weights = argv[1];
    new_weights = argv[2];
    calls = atoi(argv[3]);
    alone();
    test_two_networks();
    test_one_network();
    test_exchange();
    test_stopped_inside();
    holds(digits_init(&options) == MLP_OK, "init again");
    test_life();
    two_tower_close();
    return broken;
}
