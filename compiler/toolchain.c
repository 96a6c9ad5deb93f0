#include "toolchain.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "leftovers.h"
#include "progress.h"

struct job {
    struct arena *arena;
    struct diags *diags;
    const struct plan *plan;
    const char *headers, *runtime;  /* folders: what generated code includes; the runtime's archive and CUDA sources */
    const char *scratch;            /* folder of the sources, objects and results; goes away at the end. Tools see no
                                       name of the user's: some take it for options, or give it to a shell */
    const char *result;             /* the program or library there */
    VEC(const char *) objects;
    bool stuck;                     /* a question to a tool could not be put */
    struct progress progress;
};

struct command {
    struct arena *arena;
    struct diags *diags;
    VEC(const char *) words;
};

/* ---- commands ---- */

static void add(struct command *command, const char *word)
{
    VEC_PUSH(command->arena, &command->words, word);
}

/* The words of an environment variable such as CC="ccache gcc -m64", or of the default. Its options come after
 * `option`, so that the user's win. */
static void add_tool(struct command *command, const char *variable, const char *fallback, const char *option)
{
    const char *value = variable ? getenv(variable) : NULL;
    if (!value || !value[strspn(value, " \t")])
        value = fallback;
    char *copy = arena_copy(command->arena, value, strlen(value)), *rest = NULL;
    for (char *word = strtok_r(copy, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
        if (option && *word == '-') {
            add(command, option);
            option = NULL;
        }
        add(command, word);
    }
    if (option)
        add(command, option);
}

static bool mentions(const struct command *command, const char *beginning)
{
    for (size_t i = 0; i < command->words.count; i++) {
        if (!strncmp(command->words.at[i], beginning, strlen(beginning)))
            return true;
    }
    return false;
}

/* The child's process id, or -1 after a message. `output`: where standard output goes, or -1. Standard error is ours
 * alone where tools read it. */
static pid_t start(struct command *command, int output)
{
    const char *tool = command->words.at[0];
    posix_spawn_file_actions_t actions;
    pid_t child;
    add(command, NULL);
    fflush(NULL);
    posix_spawn_file_actions_init(&actions);
    if (diags_form(command->diags) != DIAG_TEXT)
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    if (output >= 0)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    int error = posix_spawnp(&child, tool, &actions, NULL, (char **)(void *)command->words.at, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (!error)
        return child;
    diag_environment(command->diags, NULL, "cannot run '%s': %s%s", tool, strerror(error),
                     !strcmp(tool, "nvcc") ? "; --target=cpu makes a network for the processor" : "");
    return -1;
}

static bool wait_for(pid_t child, int *status)
{
    while (waitpid(child, status, 0) < 0) {
        if (errno != EINTR)
            return false;
    }
    return true;
}

static bool run(struct command *command)
{
    const char *tool = command->words.at[0];
    int status;
    pid_t child = start(command, -1);
    if (child < 0 || !wait_for(child, &status))
        return false;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    diag_environment(command->diags, NULL, "'%s' failed on the generated code (%s %d)", tool,
                     WIFEXITED(status) ? "exit status" : "signal",
                     WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return false;
}

/* The first part of what a command prints, or NULL where it fails; `*stuck`: it could not be started. */
static const char *output_of(struct command *command, bool *stuck)
{
    char text[PATH_MAX];
    int ends[2], status;
    if (pipe2(ends, O_CLOEXEC))
        return NULL;
    pid_t child = start(command, ends[1]);
    *stuck = *stuck || child < 0;
    close(ends[1]);
    ssize_t length = child < 0 ? -1 : read(ends[0], text, sizeof text);
    close(ends[0]);
    if (child < 0 || !wait_for(child, &status) || !WIFEXITED(status) || WEXITSTATUS(status) || length < 0)
        return NULL;
    return arena_copy(command->arena, text, (size_t)length);
}

/* ---- folders ---- */

static bool is_there(struct arena *arena, const char *folder, const char *file)
{
    return access(arena_format(arena, "%s/%s", folder, file), R_OK) == 0;
}

/* Beside the compiler in a build tree, or under the same prefix where it is installed. */
static bool find_runtime(struct job *job)
{
    struct arena *arena = job->arena;
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash = length > 0 ? memrchr(self, '/', (size_t)length) : NULL;
    if (slash) {
        *slash = '\0';
        const char *beside = arena_format(arena, "%s/runtime", self);
        const char *places[][2] = {{beside, beside}, {arena_format(arena, "%s/../include/mlpc", self),
                                                      arena_format(arena, "%s/../lib/mlpc", self)}};
        for (size_t i = 0; i < 2; i++) {
            job->headers = places[i][0];
            job->runtime = places[i][1];
            if (is_there(arena, job->headers, "mlp_runtime.h") && is_there(arena, job->runtime, "libmlprt.a"))
                return true;
        }
    }
    diag_environment(job->diags, NULL, "cannot find the runtime: mlp_runtime.h and libmlprt.a are neither in runtime/ "
                     "beside mlpc, nor in ../include/mlpc/ and ../lib/mlpc/");
    return false;
}

static const char *make_scratch(struct arena *arena, struct diags *diags)
{
    const char *parent = getenv("TMPDIR");
    char real[PATH_MAX];
    parent = parent && *parent ? parent : "/tmp";
    char *path = leftover(arena_format(arena, "%s/mlpc.XXXXXX", realpath(parent, real) ? real : parent));
    if (mkdtemp(path))
        return path;
    diag_environment(diags, NULL, "cannot make a folder for compiling, '%s': %s", path, strerror(errno));
    return NULL;
}

static bool job_begin(struct job *job, const struct plan *plan, const struct outputs *sources)
{
    *job = (struct job){.arena = plan->arena, .diags = sources->diags, .plan = plan};
    progress_begin(&job->progress);
    if (!find_runtime(job) || !(job->scratch = make_scratch(job->arena, job->diags)))
        return false;
    job->result = leftover(arena_format(job->arena, "%s/result", job->scratch));
    struct outputs aside = {.arena = job->arena, .diags = job->diags};
    for (size_t i = 0; i < sources->files.count; i++) {
        const struct output_file *file = &sources->files.at[i];
        const char *path = arena_format(plan->arena, "%s/%s", job->scratch, file->path);
        leftover(path);
        outputs_add(&aside, path, file->bytes, file->size);
    }
    return outputs_commit(&aside);
}

/* ---- compiling ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && !strcmp(text + length - tail, end);
}

/* gcc turns the loops behind products into vector code at -O3 only. Products count on multiplication and addition in
 * one instruction, which gcc's -std=c11 turns off. */
static const char optimise[] = "-O3";

/* With what this chip alone has: wgmma. */
static const char default_architecture[] = "-gencode=arch=compute_90a,code=sm_90a";

/* nvcc compiles what includes CUDA's headers: it knows where they are. */
static void add_compiler(struct job *job, struct command *command, const char *source)
{
    if (job->plan->target == TARGET_CUDA && !ends_with(source, ".S")) {
        add_tool(command, "NVCC", "nvcc", optimise);
        if (!mentions(command, "-arch") && !mentions(command, "-gencode"))
            add(command, default_architecture);
        add(command, "-Xcompiler=-fvisibility=hidden");
    } else {
        add_tool(command, "CC", "cc", optimise);
        add(command, "-fvisibility=hidden");
        add(command, "-ffunction-sections");    /* so that the linker drops what nothing calls */
        if (!ends_with(source, ".S"))
            add(command, "-std=c11");
        if (job->plan->target == TARGET_CPU && !ends_with(source, ".S"))
            add(command, "-ffp-contract=fast");
    }
}

static bool compile(struct job *job, const char *source)
{
    struct command command = {.arena = job->arena, .diags = job->diags};
    const char *object = arena_format(job->arena, "%s/%zu.o", job->scratch, job->objects.count);
    add_compiler(job, &command, source);
    if (ends_with(source, ".S"))    /* for .incbin; the headers stand beside what includes them */
        add(&command, arena_format(job->arena, "-I%s", job->scratch));
    add(&command, arena_format(job->arena, "-I%s", job->headers));
    add(&command, "-c");
    add(&command, "-o");
    add(&command, object);
    add(&command, source);
    VEC_PUSH(job->arena, &job->objects, object);
    leftover(object);
    progress_show(&job->progress, "compiling %s", strrchr(source, '/') + 1);
    bool good = run(&command);
    progress_end(&job->progress);
    return good;
}

static bool is_source(const char *path)
{
    return ends_with(path, ".c") || ends_with(path, ".cu") || ends_with(path, ".S");
}

static int is_for_cuda(const struct dirent *entry)
{
    return !strncmp(entry->d_name, "cuda", 4) && ends_with(entry->d_name, ".c");
}

/* The runtime's CUDA half, which is compiled with the user's CUDA: its part for products, which needs cuBLASLt, only
 * where there is a product. */
static bool compile_for_cuda(struct job *job)
{
    struct dirent **found = NULL;
    const int count = scandir(job->runtime, &found, is_for_cuda, alphasort);
    bool good = count > 0;
    if (!good)
        diag_environment(job->diags, NULL, "cannot find the CUDA part of the runtime in '%s'", job->runtime);
    for (int i = 0; i < count; i++) {
        if (good && (job->plan->products.count || strncmp(found[i]->d_name, "cuda_gemm", 9)))
            good = compile(job, arena_format(job->arena, "%s/%s", job->runtime, found[i]->d_name));
        free(found[i]);
    }
    free(found);
    return good;
}

/* The generated sources, main apart, and what goes with them. */
static bool compile_all(struct job *job, const struct outputs *sources, bool with_main)
{
    bool good = true;
    for (size_t i = 0; good && i < sources->files.count; i++) {
        const char *path = sources->files.at[i].path;
        if (is_source(path) && (with_main || !ends_with(path, "_main.c")))
            good = compile(job, arena_format(job->arena, "%s/%s", job->scratch, path));
    }
    return good && (job->plan->target != TARGET_CUDA || compile_for_cuda(job));
}

static void add_objects(const struct job *job, struct command *command)
{
    for (size_t i = 0; i < job->objects.count; i++)
        add(command, job->objects.at[i]);
    add(command, arena_format(job->arena, "%s/libmlprt.a", job->runtime));
}

/* Asks the C compiler, which answers with a path where there is one, else with the bare name. */
static bool has_library(struct job *job, const char *name)
{
    struct command command = {.arena = job->arena, .diags = job->diags};
    add_tool(&command, "CC", "cc", NULL);
    add(&command, arena_format(job->arena, "-print-file-name=%s", name));
    const char *answer = output_of(&command, &job->stuck);
    return answer && strchr(answer, '/');
}

/* Unless told, statically where that is possible: a program that is one file runs on any machine of its kind, and
 * starts sooner, since no library is looked for. Not where $CC says itself how to link, or brings sanitizers, whose
 * libraries are shared. */
static bool links_statically(struct job *job, const struct command *link, enum linking linking)
{
    static const char *const decided[] = {"-static", "-pie", "-fsanitize"};
    if (linking != LINK_BY_RULE)
        return linking == LINK_STATIC;
    for (size_t i = 0; i < sizeof decided / sizeof *decided; i++) {
        if (mentions(link, decided[i]))
            return false;
    }
    return has_library(job, "libc.a") && has_library(job, "libm.a");
}

/* Nothing that is not called. Names stay, for profilers; debugging information stays where $CC asks for some. */
static void add_link_options(struct job *job, struct command *link, enum linking linking)
{
    add(link, "-Wl,--gc-sections");
    if (!mentions(link, "-g") && !mentions(link, "-fsanitize"))
        add(link, "-Wl,--strip-debug");
    if (links_statically(job, link, linking))
        add(link, "-static");
}

static bool link_program(struct job *job, enum linking linking)
{
    struct command command = {.arena = job->arena, .diags = job->diags};
    bool cuda = job->plan->target == TARGET_CUDA;
    add_tool(&command, cuda ? "NVCC" : "CC", cuda ? "nvcc" : "cc", NULL);
    if (cuda && !mentions(&command, "-arch") && !mentions(&command, "-gencode"))
        add(&command, default_architecture);
    if (!cuda)
        add_link_options(job, &command, linking);
    add(&command, "-o");
    add(&command, job->result);
    add_objects(job, &command);
    if (cuda && job->plan->products.count)
        add(&command, "-lcublasLt");
    add(&command, "-lm");
    return !job->stuck && run(&command);
}

/* ---- results ---- */

bool toolchain_program(const struct plan *plan, const struct outputs *sources, const char *program,
                       enum linking linking, struct outputs *outputs)
{
    struct job job;
    bool good = job_begin(&job, plan, sources);
    const char *aside = good ? output_aside(outputs, program) : NULL;
    good = aside && compile_all(&job, sources, true) && link_program(&job, linking) &&
           output_take(outputs, job.result, aside, program);
    if (good)
        outputs_add_made(outputs, program, aside);
    return good;
}

/* One relocatable object of network, weights and the runtime's parts that they need, all of whose names but the public
 * ones are local: two networks in one program cannot meet. */
static bool join_objects(struct job *job, const char *joined)
{
    struct command command = {.arena = job->arena, .diags = job->diags};
    add_tool(&command, "LD", "ld", NULL);
    add(&command, "-r");
    add(&command, "-o");
    add(&command, joined);
    add_objects(job, &command);
    return run(&command);
}

static bool hide_names(struct job *job, const char *joined)
{
    static const char *const words[] = {"init",         "run",   "run_device", "input", "output",
                                        "load_weights", "close", "error",      "model"};
    struct command command = {.arena = job->arena, .diags = job->diags};
    add_tool(&command, "OBJCOPY", "objcopy", NULL);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        add(&command, arena_format(job->arena, "--keep-global-symbol=%s_%s", job->plan->prefix, words[i]));
    add(&command, "--keep-global-symbol=mlp_status_text");
    add(&command, "--weaken-symbol=mlp_status_text");
    add(&command, joined);
    return run(&command);
}

static bool archive(struct job *job, const char *joined)
{
    struct command command = {.arena = job->arena, .diags = job->diags};
    add_tool(&command, "AR", "ar", NULL);
    add(&command, "rcsD");
    add(&command, job->result);
    add(&command, joined);
    return run(&command);
}

static void add_header(const struct outputs *sources, const char *folder, struct outputs *outputs)
{
    for (size_t i = 0; i < sources->files.count; i++) {
        const struct output_file *file = &sources->files.at[i];
        if (ends_with(file->path, ".h") && !ends_with(file->path, "_steps.h"))
            outputs_add(outputs, arena_format(outputs->arena, "%s/%s", folder, file->path), file->bytes, file->size);
    }
}

bool toolchain_library(const struct plan *plan, const struct outputs *sources, const char *folder,
                       struct outputs *outputs)
{
    struct job job;
    struct arena *arena = plan->arena;
    bool good = job_begin(&job, plan, sources);
    const char *library = arena_format(arena, "%s/lib%s.a", folder, plan->prefix);
    const char *aside = good ? output_aside(outputs, library) : NULL;
    const char *joined = job.scratch ? arena_format(arena, "%s/%s.o", job.scratch, plan->prefix) : "";
    leftover(joined);
    good = aside && compile_all(&job, sources, false) && join_objects(&job, joined) && hide_names(&job, joined) &&
           archive(&job, joined) && output_take(outputs, job.result, aside, library);
    if (good) {
        outputs_add_made(outputs, library, aside);
        add_header(sources, folder, outputs);
    }
    return good;
}
