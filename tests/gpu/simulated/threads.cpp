/* Kernels on the simulated device: a thread is a coroutine that switches where it waits for others. Blocks run one
 * after the other, or all at once where the launch says that they hand values on. Which warp goes on is a matter of
 * chance, the same in each run of the program. Copies end late, most of them when no thread can go on without them. */
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "device.h"
#include "kernels.h"

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace {

constexpr size_t stack_bytes = 256 * 1024, guard_bytes = 1024;
constexpr int most_words = 8, most_rounds = 100000;
constexpr unsigned char fresh = 0xff;           /* NaN, in any type */

typedef std::function<void()> work;

struct thread {
    ucontext_t context;
    unsigned index, block;
    bool finished;
    bool (*ready)(const void *);                /* null: it can go on */
    const void *of;
    bool asks;                                  /* it came back because memory did not hold what it wants */
    long meetings;                              /* of its warp */
    unsigned shown[2][most_words];              /* in the last two of them */
    long all_turn;
    std::vector<work> open[2];                  /* by simulated_groups: what is not in a group yet */
    std::deque<std::vector<work>> groups[2];
};

struct barrier {
    long arrivals, missing, bytes;
    unsigned phase;
};

struct meeting {
    unsigned arrived;
    long turn;
};

struct block {
    std::vector<unsigned char> memory;
    unsigned char *shared;
    std::map<unsigned, barrier> barriers;
    std::map<unsigned, meeting> meetings;       /* by the number of threads */
    unsigned left;
};

struct copy {
    unsigned block, to, barrier;
    std::vector<unsigned char> bytes;
};

simulated_kernel running;
std::vector<thread> threads;
std::vector<block> blocks;
std::vector<work> events;
meeting everyone;
thread *current;
ucontext_t scheduler;
char *stacks;
size_t stack_count;

[[noreturn]] void fault(const char *what)
{
    fprintf(stderr, "simulated device: %s\n", what);
    abort();
}

unsigned chance(unsigned of)
{
    static unsigned long long state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return unsigned(state >> 33) % of;
}

/* ---- Coroutines ---- */

void thread_body()
{
    running.function(running.arena, running.rows);
    for (int i = 0; i < 2; i++)
        if (!current->open[i].empty() || !current->groups[i].empty())
            fault("a thread ended before its copies and products");
    current->finished = true;
    blocks[simulated_this_block()].left--;
    swapcontext(&current->context, &scheduler);
}

void let_others_run()
{
    thread *self = current;
    swapcontext(&self->context, &scheduler);
}

void resume(thread &t)
{
    current = &t;
    t.ready = nullptr;
    t.asks = false;
    threadIdx = dim3(t.index);
    blockIdx = dim3(t.block);
    swapcontext(&scheduler, &t.context);
}

/* Pages of stacks are there when they are touched. */
void make_stacks(size_t count)
{
    if (count <= stack_count)
        return;
    if (stacks)
        munmap(stacks, stack_count * stack_bytes);
    stacks = static_cast<char *>(mmap64(nullptr, count * stack_bytes, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (stacks == MAP_FAILED)
        fault("no memory for threads");
    stack_count = count;
}

void start_thread(thread &t, unsigned index, unsigned block, char *stack)
{
    t.index = index;
    t.block = block;
    t.finished = t.asks = false;
    t.ready = nullptr;
    t.meetings = t.all_turn = 0;
    getcontext(&t.context);
    t.context.uc_stack.ss_sp = stack;
    t.context.uc_stack.ss_size = stack_bytes;
    t.context.uc_link = nullptr;
    makecontext(&t.context, thread_body, 0);
}

void start_block(block &b)
{
    const size_t bytes = running.shared_bytes;
    b.memory.assign(bytes + 2 * guard_bytes, fresh);
    b.shared = b.memory.data() + (guard_bytes - uintptr_t(b.memory.data()) % guard_bytes);
    b.barriers.clear();
    b.meetings.clear();
    b.left = running.block;
}

/* ---- Going on ---- */

struct warp {
    unsigned first;
    int rests;                                  /* rounds */
};

/* Now and then a warp is behind all others for a while. */
bool goes_on(warp &w)
{
    if (w.rests > 0)
        return w.rests--, false;
    if (chance(128) == 0)
        w.rests = int(chance(256));
    return chance(4) != 0;
}

/* Whether a thread of the warp did something. */
bool run_warp(thread *first, unsigned lanes)
{
    bool done = false;
    for (unsigned i = 0; i < lanes; i++) {
        thread &t = first[i];
        if (t.finished || (t.ready && !t.ready(t.of)))
            continue;
        resume(t);
        done = done || !t.asks;
    }
    return done;
}

bool run_event()
{
    if (events.empty())
        return false;
    std::swap(events[chance(unsigned(events.size()))], events.back());
    const work happens = std::move(events.back());
    events.pop_back();
    happens();
    return true;
}

unsigned run_round(std::vector<warp> &order, unsigned count, bool &done)
{
    unsigned left = 0;
    for (size_t i = order.size(); i > 1; i--)
        std::swap(order[i - 1], order[chance(unsigned(i))]);
    for (warp &w : order) {
        const unsigned in_block = running.block - threads[w.first].index;
        if (goes_on(w))
            done |= run_warp(&threads[w.first], std::min(in_block, 32u));
    }
    for (unsigned i = done ? chance(16) / 15 : chance(16); i > 0; i--)
        done |= run_event();
    for (unsigned i = 0; i < count; i++)
        left += !threads[i].finished;
    return left;
}

void check_block(const block &b)
{
    const unsigned char *end = b.memory.data() + b.memory.size();
    for (const unsigned char *at = b.shared + running.shared_bytes; at < end; at++)
        if (*at != fresh)
            fault("something was written behind the end of shared memory");
}

void run_blocks(unsigned first, unsigned count)
{
    const unsigned all = count * running.block;
    std::vector<warp> order;
    everyone = {};
    for (unsigned i = 0; i < count; i++) {
        start_block(blocks[i]);
        for (unsigned j = 0; j < running.block; j++) {
            const unsigned k = i * running.block + j;
            start_thread(threads[k], j, first + i, stacks + k * stack_bytes);
            if (j % 32 == 0)
                order.push_back({k, 0});
        }
    }
    int idle = 0;
    for (unsigned left = all; left > 0;) {
        bool done = false;
        left = run_round(order, all, done);
        idle = done ? 0 : idle + 1;
        if (idle > most_rounds)
            fault("a kernel waits for ever");
    }
    if (!events.empty())
        fault("a kernel ended before its copies");
    for (unsigned i = 0; i < count; i++)
        check_block(blocks[i]);
}

block &own_block()
{
    return blocks[simulated_this_block()];
}

thread *own_warp()
{
    return current - current->index % 32;
}

/* ---- Barriers in shared memory ---- */

barrier &barrier_at(block &b, unsigned at)
{
    const auto found = b.barriers.find(at);
    if (found == b.barriers.end())
        fault("there is no barrier at this place");
    return found->second;
}

void end_phase(barrier &b)
{
    if (b.missing < 0)
        fault("more threads arrived than a barrier expects");
    if (b.missing == 0 && b.bytes == 0) {
        b.phase++;
        b.missing = b.arrivals;
    }
}

void end_copy(const copy &c)
{
    block &to = blocks[c.block];
    if (to.left == 0)
        fault("a block ended before what was sent to it had come");
    memcpy(to.shared + c.to, c.bytes.data(), c.bytes.size());
    barrier &counter = barrier_at(to, c.barrier);
    counter.bytes -= long(c.bytes.size());
    end_phase(counter);
}

} // namespace

void simulated_run(const simulated_kernel &kernel)
{
    const unsigned at_once = kernel.together ? kernel.grid : 1;
    running = kernel;
    gridDim = dim3(kernel.grid);
    blockDim = dim3(kernel.block);
    blocks.resize(at_once);
    threads.resize(at_once * kernel.block);
    make_stacks(threads.size());
    for (unsigned i = 0; i < kernel.grid; i += at_once)
        run_blocks(i, at_once);
}

/* ---- Waiting ---- */

void simulated_wait(bool (*ready)(const void *), const void *of)
{
    if (ready(of))
        return;
    current->ready = ready;
    current->of = of;
    let_others_run();
}

void simulated_yield()
{
    current->asks = true;
    let_others_run();
}

void simulated_meet(unsigned count)
{
    assert(current->index < count && count <= running.block);
    meeting &here = own_block().meetings[count];
    const long turn = here.turn;
    if (++here.arrived == count) {
        here.arrived = 0;
        here.turn++;
    }
    simulated_wait_until([&here, turn] { return here.turn > turn; });
}

void simulated_arrive_all()
{
    current->all_turn = everyone.turn + 1;
    if (++everyone.arrived == unsigned(blocks.size()) * running.block) {
        everyone.arrived = 0;
        everyone.turn++;
    }
}

void simulated_wait_all()
{
    const long turn = current->all_turn;
    simulated_wait_until([turn] { return everyone.turn >= turn; });
}

void __syncthreads()
{
    simulated_meet(running.block);
}

/* ---- A warp ---- */

/* A thread cannot be two meetings ahead of another one, so that two places are enough. */
void simulated_meet_lanes(unsigned mask, const unsigned *words, int count)
{
    const thread *warp = own_warp();
    const long turn = current->meetings++;
    assert(mask >> current->index % 32 & 1 && count <= most_words);
    std::copy_n(words, count, current->shown[turn % 2]);
    for (unsigned lane = 0; lane < 32; lane++) {
        if (!(mask >> lane & 1))
            continue;
        const thread &other = warp[lane];
        simulated_wait_until([&other, turn] {
            if (other.finished && other.meetings <= turn)
                fault("a thread ended that others of its warp wait for");
            return other.meetings > turn;
        });
    }
}

const unsigned *simulated_of_lane(unsigned lane)
{
    return own_warp()[lane].shown[(current->meetings - 1) % 2];
}

/* ---- Shared memory ---- */

unsigned char *simulated_shared()
{
    return own_block().shared;
}

unsigned simulated_this_block()
{
    return running.together ? current->block : 0;
}

void simulated_copy(unsigned block, unsigned to, const void *from, unsigned bytes, unsigned barrier)
{
    const auto *begin = static_cast<const unsigned char *>(from);
    if (to % 16 || bytes % 16 || to + bytes > running.shared_bytes || block >= blocks.size())
        fault("a copy to shared memory is not aligned, or goes beyond it");
    const copy c = {block, to, barrier, std::vector<unsigned char>(begin, begin + bytes)};
    events.push_back([c] { end_copy(c); });
}

void simulated_barrier_init(unsigned at, int arrivals)
{
    own_block().barriers[at] = {arrivals, arrivals, 0, 0};
}

void simulated_barrier_arrive(unsigned at, int bytes)
{
    barrier &b = barrier_at(own_block(), at);
    b.missing--;
    b.bytes += bytes;
    end_phase(b);
}

void simulated_barrier_wait(unsigned at, unsigned parity)
{
    const barrier &b = barrier_at(own_block(), at);
    simulated_wait_until([&b, parity] { return (b.phase & 1) != parity; });
}

/* ---- Copies and products in groups ---- */

void simulated_group_add(simulated_groups of, const work &happens)
{
    current->open[of].push_back(happens);
}

void simulated_group_commit(simulated_groups of)
{
    current->groups[of].push_back(std::move(current->open[of]));
    current->open[of].clear();
}

void simulated_group_wait(simulated_groups of, int pending)
{
    auto &groups = current->groups[of];
    while (int(groups.size()) > pending) {
        const std::vector<work> group = std::move(groups.front());
        groups.pop_front();
        for (const work &happens : group)
            happens();
    }
}
