# mlpc: the compiler build/mlpc, the runtime build/runtime/, and the tests.
#
#   make deps     installs what is missing (Debian, Ubuntu)     make check    runs every test that this machine can run
#   make          builds compiler and runtime                   make asan     the same under sanitizers, in build/asan
#   make demo     reads 360 handwritten digits                  make golden   refreshes texts that tests hold output to
#   make check-gpu  the CUDA target, where there is a GPU        make bench    against other tools, where there is one
#   make bench-cpu  the CPU target against other tools           make install  into PREFIX (/usr/local), below DESTDIR
#   make clean    removes build/                            make uninstall  removes what make install made
#   make check-random  random networks, make fuzz: see tests/trust.mk
#
# V=1 shows whole commands. Sources are found by wildcard; header dependencies follow by themselves.

B         = build
CC        = gcc
CFLAGS    = -O2 -g
SANITIZE  =
WARN      = -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes
STD       = -std=c11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64
# What mlpc computes has the same bits everywhere: no a * b + c in one step, and no registers of 80 bits.
X86_32    = $(filter i386-% i486-% i586-% i686-%,$(shell $(CC) -dumpmachine))
EXACT     = -ffp-contract=off $(if $(X86_32),-msse2 -mfpmath=sse)
COMPILE   = $(CC) $(STD) $(WARN) $(EXACT) $(CFLAGS) $(SANITIZE) -MMD -MP
LINK      = $(CC) $(CFLAGS) $(SANITIZE)

# `make deps check` must not compile before the packages are there, in parallel either.
DEPS      = $(filter deps,$(MAKECMDGOALS))

ifeq ($(V),1)
say       =
else
say       = @printf '  %-6s %s\n' $(1) $@;
endif

PARSER    = $(B)/compiler/lex.c $(B)/compiler/lex.h $(B)/compiler/parse.c $(B)/compiler/parse.h
# Where the package installs the schema of ONNX's files, onnx.proto.
ONNX      = /usr/include/onnx
SCHEMA    = $(B)/compiler/onnx/onnx.pb-c.c $(B)/compiler/onnx/onnx.pb-c.h
# What the compiler and programs have in common.
SHARED    = $(patsubst %.c,$(B)/%.o,$(wildcard runtime/plan_file*.c) runtime/follow_links.c \
            runtime/npy_header.c runtime/standard_files.c)
COMPILER  = $(patsubst %.c,$(B)/%.o,$(wildcard compiler/*.c compiler/onnx/*.c)) $(B)/compiler/lex.o \
            $(B)/compiler/parse.o $(B)/compiler/onnx/onnx.pb-c.o
PASSES    = $(filter-out $(B)/compiler/main.o,$(COMPILER)) $(SHARED)
RUNTIME   = $(patsubst %.c,$(B)/%.o,$(filter-out $(wildcard runtime/cuda*.c),$(wildcard runtime/*.c)))
# What generated code includes, and the CUDA half, which is compiled together with it.
SHIPPED   = $(addprefix $(B)/,$(wildcard runtime/mlp_*.h runtime/mlp_*.cuh runtime/cuda*.c runtime/cuda*.h) \
            runtime/plan_file.h runtime/element.h runtime/random.h runtime/timing.h)
UNITS     = $(patsubst tests/unit/%.c,$(B)/tests/%,$(wildcard tests/unit/*.c))
TOOLS     = $(addprefix $(B)/tests/,run_cases show_digits random_networks fail_calls damage)

all: $(B)/mlpc $(B)/runtime/libmlprt.a $(SHIPPED)

$(B)/mlpc: $(COMPILER) $(SHARED)
	$(call say,LINK)$(LINK) -o $@ $^ -ljansson -lprotobuf-c -lm

# Needs none of its libraries where it runs: for the tests on a machine with a GPU.
$(B)/mlpc-static: $(COMPILER) $(SHARED)
	$(call say,LINK)$(LINK) -static -o $@ $^ -ljansson -lprotobuf-c -lm

$(B)/runtime/libmlprt.a: $(RUNTIME)
	$(call say,AR)rm -f $@ && ar rcsD $@ $^

$(SHIPPED): $(B)/%: %
	$(call say,COPY)mkdir -p $(@D) && cp $< $@

$(B)/compiler/parse.c $(B)/compiler/parse.h &: compiler/parse.y | $(DEPS)
	$(call say,BISON)mkdir -p $(@D) && bison -Wall -Werror -o $(B)/compiler/parse.c --header=$(B)/compiler/parse.h $<

$(B)/compiler/lex.c $(B)/compiler/lex.h &: compiler/lex.l | $(DEPS)
	$(call say,FLEX)mkdir -p $(@D) && flex -o $(B)/compiler/lex.c --header-file=$(B)/compiler/lex.h $<

$(SCHEMA) &: | $(DEPS)
	$(call say,PROTOC)mkdir -p $(@D) && protoc-c --proto_path=$(ONNX) --c_out=$(@D) onnx.proto

$(B)/compiler/%.o: compiler/%.c | $(PARSER) $(SCHEMA)
	$(call say,CC)$(COMPILE) -Icompiler -I$(B)/compiler -I$(B)/compiler/onnx -Iruntime -c -o $@ $<

# Code that flex, bison and protoc-c wrote answers to their idea of warnings.
$(B)/compiler/%.o: $(B)/compiler/%.c | $(PARSER) $(SCHEMA)
	$(call say,CC)$(filter-out $(WARN),$(COMPILE)) -Icompiler -I$(B)/compiler -c -o $@ $<

# In sections of their own, so that programs hold only the functions that they call; with no path of this machine, which
# libraries would hold.
$(B)/runtime/%.o: runtime/%.c | $(DEPS)
	$(call say,CC)mkdir -p $(@D) && $(COMPILE) -ffunction-sections -ffile-prefix-map=$(CURDIR)=. -Iruntime -c -o $@ $<

# ---- Tests ----

# The tools that judge are not themselves under test.
$(TOOLS): override SANITIZE =

$(B)/tests/unit/test_%.o: tests/unit/test_%.c | $(PARSER)
	$(call say,CC)mkdir -p $(@D) && $(COMPILE) -Icompiler -I$(B)/compiler -c -o $@ $<

$(B)/tests/unit/runtime_%.o: tests/unit/runtime_%.c | $(DEPS)
	$(call say,CC)mkdir -p $(@D) && $(COMPILE) -Iruntime -c -o $@ $<

# As generated code is compiled.
AS_GENERATED = $(patsubst %.c,$(B)/%.o,$(wildcard $(addprefix tests/unit/runtime_,tile*.c math*.c row*.c)))
$(AS_GENERATED): override CFLAGS += -O3 -ffp-contract=fast
# Vectors that the compiler makes of smaller ones: for what they compute, not for what they are made of.
EMULATED = $(patsubst %.c,$(B)/%.o,$(wildcard tests/unit/runtime_*_wide.c tests/unit/runtime_*_high.c))
$(EMULATED): override CFLAGS += -O1 -Wno-psabi

$(B)/tests/%.o: tests/%.c | $(DEPS)
	$(call say,CC)mkdir -p $(@D) && $(COMPILE) -Itests -c -o $@ $<

$(B)/tests/runtime_%: $(B)/tests/unit/runtime_%.o $(B)/runtime/libmlprt.a
	$(call say,LINK)$(LINK) -o $@ $^ -lcmocka -lpthread -lm

$(B)/tests/test_%: $(B)/tests/unit/test_%.o $(PASSES)
	$(call say,LINK)$(LINK) -o $@ $^ -lcmocka -ljansson -lprotobuf-c -lm

$(B)/tests/run_cases: $(addprefix $(B)/tests/,run_cases.o compare.o command.o)
	$(call say,LINK)$(LINK) -o $@ $^ -ljansson -lm

$(B)/tests/damage: $(addprefix $(B)/tests/,onnx/damage.o command.o)
	$(call say,LINK)$(LINK) -o $@ $^

$(B)/tests/show_digits: $(addprefix $(B)/tests/,demo/show_digits.o compare.o)
	$(call say,LINK)$(LINK) -o $@ $^ -lm

check: all $(UNITS) $(TOOLS) fuzz_targets
	@SANITIZE="$(SANITIZE)" tests/check.sh $(B) $(UNITS)

# Compiler, runtime, tests and the programs they generate, all with sanitizers; each object of an arena its own malloc.
ASAN = B=build/asan CFLAGS='-O1 -g -fno-omit-frame-pointer' \
       SANITIZE='-fsanitize=address,undefined -DMLPC_ARENA_PER_OBJECT -Wno-format-truncation'
asan:
	@$(MAKE) --no-print-directory check $(ASAN)

# Random networks, faults, fuzzing.
include tests/trust.mk

# On a machine with a GPU: the CUDA target against the same references.
check-gpu: all $(B)/mlpc-static $(B)/tests/random_networks $(B)/tests/fail_calls
	@nvidia-smi >/dev/null 2>&1 || { echo "make check-gpu: there is no GPU here (nvidia-smi fails)" >&2; exit 1; }
	@tests/gpu/bundle.sh -r 40 $(B)/mlpc $(B)/gpu
	@$(B)/gpu/run.sh

# On a machine with a GPU: the networks of specs/ladder against other tools; results in tests/bench/results.
bench: all $(B)/mlpc-static
	@tests/bench/gpu.sh

# The CPU target against ONNX Runtime, PyTorch and OpenBLAS, which it installs into build/bench-cpu; the same results.
# OPTIONS=--quick, --only=NAME,...: see tests/bench/cpu.sh.
bench-cpu: all
	@tests/bench/cpu.sh $(OPTIONS)

golden: all
	@tests/golden.sh $(B) refresh
	@tests/messages.sh $(B)/mlpc refresh
	@tests/messages_page.sh $(B)/mlpc refresh
	@tests/texts.sh $(B) refresh

# ---- The demo ----

demo: all $(B)/tests/show_digits
	$(B)/mlpc --exe --target=cpu -o $(B)/digits specs/digits.mlp
	$(B)/digits specs/digits_x.npy $(B)/digits_y.npy
	@$(B)/tests/show_digits specs/digits_x.npy $(B)/digits_y.npy specs/digits_labels.npy
	@$(B)/digits --bench --batch 360 --json | awk -F'"median_us": ' \
	    'NF == 2 { printf "%.2f microseconds a row, 360 rows at a time\n", $$2 / 360; found = 1 } END { exit !found }'

include compiler/install/install.mk

# ---- Packages ----

# TOOL or TOOL:PACKAGE. What tests alone use, and do without, comes with `make deps check`.
TOOLS_NEEDED     = gcc g++ flex bison pkg-config protoc-c:protobuf-c-compiler \
                   $(if $(filter check,$(MAKECMDGOALS)),cmake ninja:ninja-build zsh mandoc cppcheck)
LIBRARIES_NEEDED = jansson cmocka

deps:
	@missing=; \
	for tool in $(TOOLS_NEEDED); do command -v $${tool%%:*} >/dev/null || missing="$$missing $${tool#*:}"; done; \
	for name in $(LIBRARIES_NEEDED); do \
	    pkg-config --exists $$name 2>/dev/null || missing="$$missing lib$$name-dev"; \
	done; \
	pkg-config --exists libprotobuf-c 2>/dev/null || missing="$$missing libprotobuf-c-dev"; \
	[ -r $(ONNX)/onnx.proto ] || missing="$$missing libonnx-dev"; \
	if [ -n "$$missing" ]; then \
	    echo "installing$$missing"; \
	    if [ "$$(id -u)" = 0 ]; then root=; else root=sudo; fi; \
	    $$root apt-get update && \
	    $$root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $$missing; \
	fi </dev/null

clean:
	rm -rf build

.PHONY: all check check-gpu bench bench-cpu asan golden demo deps clean
.SECONDARY:
-include $(shell find $(B) -name '*.d' 2>/dev/null)
