# make install, make uninstall: what goes where below $(DESTDIR)$(PREFIX). Nothing of it knows where it is: the whole
# may be moved.

PREFIX    = /usr/local
DESTDIR   =
VERSION   = $(shell sed -n 's/^\#define MLPC_VERSION "\(.*\)"/\1/p' compiler/version.h)
VERSIONED = $(addprefix $(B)/install/,mlpc.pc mlpcConfigVersion.cmake)

# Only what generated code includes is where users' compilers look.
HEADERS   = $(filter-out %/mlp_tuning.h,$(filter $(B)/runtime/mlp_%,$(SHIPPED)))
ASIDE     = $(B)/runtime/libmlprt.a $(filter-out $(HEADERS),$(SHIPPED))
EDITORS   = $(patsubst compiler/editors/%,%,$(shell find compiler/editors -type f 2>/dev/null))

# FILE:PLACE. No name here has a blank in it; PREFIX and DESTDIR may.
INSTALLED = $(B)/mlpc:bin/mlpc \
            $(foreach file,$(HEADERS),$(file):include/mlpc/$(notdir $(file))) \
            $(foreach file,$(ASIDE),$(file):lib/mlpc/$(notdir $(file))) \
            $(B)/install/mlpc.pc:lib/pkgconfig/mlpc.pc \
            $(B)/install/mlpcConfigVersion.cmake:lib/cmake/mlpc/mlpcConfigVersion.cmake \
            compiler/install/mlpcConfig.cmake:lib/cmake/mlpc/mlpcConfig.cmake \
            compiler/install/mlpc.mk:share/mlpc/mlpc.mk \
            $(foreach file,$(EDITORS),compiler/editors/$(file):share/mlpc/editors/$(file)) \
            compiler/mlpc.1:share/man/man1/mlpc.1 \
            compiler/completion/mlpc.bash:share/bash-completion/completions/mlpc \
            compiler/completion/_mlpc:share/zsh/site-functions/_mlpc \
            specs/README.md:share/doc/mlpc/language.md \
            LICENSE:share/doc/mlpc/LICENSE

# Folders that are nobody else's.
OWNED     = include/mlpc lib/mlpc lib/cmake/mlpc share/mlpc share/doc/mlpc

$(VERSIONED): $(B)/install/%: compiler/install/%.in compiler/version.h
	$(call say,SED)mkdir -p $(@D) && sed 's/@VERSION@/$(VERSION)/' $< >$@

install: all $(VERSIONED)
	@set -e; for pair in $(INSTALLED); do \
	    case $$pair in *:bin/*) mode=755 ;; *) mode=644 ;; esac; \
	    install -D -m $$mode "$${pair%%:*}" "$(DESTDIR)$(PREFIX)/$${pair#*:}"; \
	done
	@echo "installed mlpc $(VERSION) in $(DESTDIR)$(PREFIX)"

uninstall:
	@for pair in $(INSTALLED); do rm -f "$(DESTDIR)$(PREFIX)/$${pair#*:}"; done
	@for folder in $(OWNED); do \
	    ! [ -d "$(DESTDIR)$(PREFIX)/$$folder" ] || find "$(DESTDIR)$(PREFIX)/$$folder" -depth -type d -empty -delete; \
	done

.PHONY: install uninstall
