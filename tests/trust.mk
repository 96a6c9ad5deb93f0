# Of the Makefile: what the compiler and what it makes are held to beyond cases.
#
#   make check-random N=1000 SEED=1     random networks; asan-random: the same under sanitizers
#   make check-threads                  every case on one, two and three threads: the same bits
#   make tsan CALLS=2000                libraries under threads, with ThreadSanitizer
#   make check-rounds ROUNDS=10000      libraries opened and closed again and again hold no more than at first

# Shares nothing with the compiler.
$(B)/tests/random_networks: $(patsubst %.c,$(B)/%.o,$(filter-out %/prove.c,$(wildcard tests/random/*.c))) \
                            $(addprefix $(B)/tests/,compare.o command.o)
	$(call say,LINK)$(LINK) -o $@ $^ -lm

# N random networks, from the seed SEED on: see tests/random/main.c. `asan-random`: compiler and programs with sanitizers.
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

.PHONY: check-random asan-random check-threads tsan check-rounds

# Every call of the system that can fail, failing in turn.
$(B)/tests/fail_calls: $(addprefix $(B)/tests/,faults/faults.o command.o)
	$(call say,LINK)$(LINK) -o $@ $^
