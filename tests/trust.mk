# Of the Makefile: what the compiler and what it makes are held to beyond cases.
#
#   make check-random N=1000 SEED=1     random networks; asan-random: the same under sanitizers
#   make fuzz TARGET=language TIME=60   fuzzes, with clang: all of tests/fuzz/*.c unless told; fuzz-afl: with AFL++
#   make check-threads                  every case on one, two and three threads: the same bits
#   make analyze                        gcc -fanalyzer, cppcheck, clang-tidy; make coverage: lines that no test reaches
#   make check-builds                   other compilers' mlpc, other processors, other surroundings: the same bytes
#   make tsan CALLS=2000                libraries under threads, with ThreadSanitizer
#   make check-rounds ROUNDS=10000      libraries opened and closed again and again hold no more than at first
#   make faults                         every call that can fail, failing in turn

# Shares nothing with the compiler.
$(B)/tests/random_networks: $(patsubst %.c,$(B)/%.o,$(filter-out %/prove.c,$(wildcard tests/random/*.c))) \
                            $(addprefix $(B)/tests/,compare.o command.o)
	$(call say,LINK)$(LINK) -o $@ $^ -lm

# N random networks, from the seed SEED on: see tests/random/main.c. `asan-random`: compiler and programs with
# sanitizers.
N         = 1000
SEED      = 1
check-random: all $(B)/tests/random_networks
	@mkdir -p $(B)/random
	@$(if $(SANITIZE),CC="gcc $(filter -fsanitize%,$(SANITIZE))" UBSAN_OPTIONS=halt_on_error=1) \
	$(B)/tests/random_networks -n $(N) -s $(SEED) $(OPTIONS) $(B)/mlpc $(B)/runtime $(B)/random
asan-random:
	@$(MAKE) --no-print-directory check-random $(ASAN)

# --verify compares the bits; `make check` does it for the networks of tests/networks.
check-threads: all $(B)/tests/run_cases
	@mkdir -p $(B)/cases_threads
	@MLPC=$(abspath $(B))/mlpc $(B)/tests/run_cases -t 300 tests/three_threads.sh $(B)/runtime $(B)/cases_threads \
	    tests/cases/pytorch tests/cases/public

tsan: all
	@tests/library/threads.sh $(B) $(CALLS)

check-rounds: all
	@tests/library/rounds.sh $(B) $(ROUNDS)

# Builds below $(B)/builds; BUILDS="i386 clang-O0" makes only those. Says what it left out, and why.
check-builds: all $(B)/tests/random_networks
	@tests/builds.sh $(B) $(BUILDS)

.PHONY: check-builds
.PHONY: check-random asan-random check-threads tsan check-rounds

# Every call of the system that can fail, failing in turn.
$(B)/tests/fail_calls: $(addprefix $(B)/tests/,faults/faults.o command.o)
	$(call say,LINK)$(LINK) -o $@ $^
# What `make check` does of it, and more: CUDA and cuBLASLt, on the simulated device, for networks of each kind.
faults: all $(B)/tests/fail_calls
	@tests/faults/faults.sh $(B)
	@tests/faults/cuda.sh $(B) all

.PHONY: faults

# ---- Fuzzing ----

# One file of tests/fuzz each. In $(B)/tests without an engine, one pass over the files that it is given, for `make
# check`; as $(FUZZERS)/fuzz_TARGET with the engine of `make fuzz`.
FUZZ_TARGETS = $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c))
FUZZ_COMMON  = $(addprefix $(B)/tests/fuzz/common/,fuzz.o compiled.o)
FUZZ_NETS    = $(addprefix $(B)/tests/fuzz/net/,one.h two.h)
FUZZERS      = $(B)
FUZZ_LINK    = -Wl,--wrap=mlp_seconds -ljansson -lprotobuf-c -lpthread -lm

$(B)/tests/fuzz/%.o: tests/fuzz/%.c | $(PARSER) $(FUZZ_NETS)
	$(call say,CC)mkdir -p $(@D) && $(COMPILE) -Itests/fuzz -Icompiler -I$(B)/compiler -Iruntime -I$(B)/tests/fuzz/net \
	    -c -o $@ $<

# What only looks at texts need not be looked at.
$(B)/tests/fuzz/common/fuzz.o: override SANITIZE =
$(B)/tests/fuzz/common/fuzz.o: override CFLAGS = -O2 -g1

$(B)/tests/fuzz/net/%.h: tests/fuzz/common/%.mlp $(B)/mlpc
	$(call say,MLPC)$(B)/mlpc --target=cpu --cpu=x86-64 --random-weights=1 \
	    --weights=$(if $(filter two,$*),external,embed) -o $(@D) $<

# The programs that the command line is for.
$(B)/tests/fuzz/net.a: $(FUZZ_NETS)
	$(call say,CC)cd $(@D)/net && rm -f *_main.c *.o && $(COMPILE) -I$(CURDIR)/runtime -c *.c *.S && \
	    rm -f ../net.a && ar rcsD ../net.a *.o

$(B)/tests/libmlpc.a: $(FUZZ_COMMON) $(PASSES)
	$(call say,AR)mkdir -p $(@D) && rm -f $@ && ar rcsD $@ $^

FUZZ_PARTS = $(B)/tests/fuzz/%.o $(B)/tests/fuzz/net.a $(B)/tests/libmlpc.a $(B)/runtime/libmlprt.a

$(B)/tests/fuzz_%: $(B)/tests/fuzz/common/standalone.o $(FUZZ_PARTS)
	$(call say,LINK)$(LINK) -o $@ $^ $(FUZZ_LINK)

$(FUZZERS)/fuzz_%: $(FUZZ_PARTS)
	$(call say,LINK)$(LINK) $(ENGINE) -o $@ $^ $(FUZZ_LINK)

fuzz_targets: $(addprefix $(B)/tests/fuzz_,$(FUZZ_TARGETS))
fuzz_engines: $(addprefix $(FUZZERS)/fuzz_,$(FUZZ_TARGETS))

# The same with clang and its sanitizers, in build/fuzz. `make fuzz`: each target, or TARGET, for TIME seconds.
FUZZ_BUILD = B=build/fuzz CC=clang CFLAGS='-O1 -gline-tables-only -fno-omit-frame-pointer' \
             SANITIZE='-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined \
             -DMLPC_ARENA_PER_OBJECT'
ENGINE     = -fsanitize=fuzzer
TIME       = 60
fuzz:
	@$(MAKE) --no-print-directory fuzz_engines $(FUZZ_BUILD)
	@tests/fuzz/layout.sh build/fuzz $(FUZZ_TARGETS)
	@build/fuzz/run.sh $(TIME) 1 $(TARGET)
# The same with AFL++, for one target; what it finds is in build/afl/out/TARGET.
AFL_BUILD  = $(subst build/fuzz,build/afl,$(subst clang,afl-clang-fast,$(subst fuzzer-no-link$(comma),,$(FUZZ_BUILD))))
comma      = ,
fuzz-afl:
	@$(MAKE) --no-print-directory build/afl/fuzz_$(TARGET) $(AFL_BUILD)
	@tests/fuzz/layout.sh build/afl $(TARGET)
	@mkdir -p build/afl/out
	@AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_SKIP_CPUFREQ=1 AFL_NO_UI=1 AFL_AUTORESUME=1 afl-fuzz -V $(TIME) -m none \
	    -t 5000 -i build/afl/seeds/$(TARGET) -o build/afl/out/$(TARGET) $(if $(wildcard tests/fuzz/$(TARGET).dict), \
	    -x tests/fuzz/$(TARGET).dict) -- build/afl/fuzz_$(TARGET)
# For bundle.sh.
fuzz_bundle:
	@$(MAKE) --no-print-directory fuzz_engines $(FUZZ_BUILD)
	@tests/fuzz/layout.sh $(FUZZERS) $(FUZZ_TARGETS)

.PHONY: fuzz_targets fuzz_engines fuzz fuzz-afl fuzz_bundle

.PHONY: fuzz_targets fuzz_engines fuzz fuzz_bundle

# The lines of compiler and runtime that neither `make check` nor `make faults` reaches: see tests/coverage.sh.
coverage:
	@$(MAKE) --no-print-directory coverage-run B=build/coverage CFLAGS='-O0 -g --coverage -fprofile-update=atomic'
coverage-run: all $(UNITS) $(TOOLS) fuzz_targets
	@tests/coverage.sh $(B) $(UNITS)

.PHONY: coverage coverage-run

# What static analysis finds in compiler, runtime and generated code: see tests/analyze.sh. PARTS="gcc cppcheck".
analyze: all
	@tests/analyze.sh $(B) $(PARTS)

.PHONY: analyze
