# mlpc.mk -- rules for GNU make (4.3 or later) that compile networks.
#
#     include $(shell pkg-config --variable=makefile mlpc)
#     $(call mlpc_model,digits,digits.mlp,--target=cpu)
#
#     CPPFLAGS += $(MLPC_CPPFLAGS)
#     classify: classify.o $(digits_LIBRARY)
#             $(CC) -o $@ $^ $(MLPC_LIBS)
#     classify.o: $(digits_HEADER)
#
# mlpc_model and mlpc_program take the name of the model, its spec, and options of mlpc. What they make is then called
# $(NAME_LIBRARY) and $(NAME_HEADER), or $(NAME_PROGRAM), and is made anew when the spec changes, the weights, a plan
# file, or mlpc itself. It goes into $(MLPC_FOLDER); neither that nor any other name may have a blank in it. Libraries
# for CUDA are linked with $(MLPC_CUDA_LIBS).

MLPC_PREFIX    := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))../..)
MLPC            = $(MLPC_PREFIX)/bin/mlpc
MLPC_FOLDER     = mlpc
MLPC_CPPFLAGS   = -I$(MLPC_PREFIX)/include/mlpc -I$(MLPC_FOLDER)
MLPC_LIBS       = -lm
MLPC_CUDA_LIBS  = -lcublasLt -lcudart -lstdc++ -lm

# The compilers are make's own, if they say so.
mlpc_run        = $(if $(CC),CC='$(CC)') $(if $(NVCC),NVCC='$(NVCC)') $(MLPC)

# mlpc_rule OUTPUTS,SPEC,OPTIONS,NAME. It is never what make makes when it is told nothing.
define mlpc_rule
$(1) &: $(2) $(wildcard $(MLPC))
	@mkdir -p $(MLPC_FOLDER)
	$$(mlpc_run) $(3) -MD -MP -MF $(MLPC_FOLDER)/$(4).d $(addprefix -MQ ,$(1)) $(2)
-include $(MLPC_FOLDER)/$(4).d
.DEFAULT_GOAL := $(.DEFAULT_GOAL)
endef

define mlpc_library_rule
$(1)_LIBRARY := $(MLPC_FOLDER)/lib$(1).a
$(1)_HEADER := $(MLPC_FOLDER)/$(1).h
$(call mlpc_rule,$(MLPC_FOLDER)/lib$(1).a $(MLPC_FOLDER)/$(1).h,$(2),--lib -o $(MLPC_FOLDER) $(3),lib$(1))
endef

define mlpc_program_rule
$(1)_PROGRAM := $(MLPC_FOLDER)/$(1)
$(call mlpc_rule,$(MLPC_FOLDER)/$(1),$(2),--exe -o $(MLPC_FOLDER)/$(1) $(3),$(1))
endef

mlpc_model      = $(eval $(call mlpc_library_rule,$(strip $(1)),$(strip $(2)),$(3)))
mlpc_program    = $(eval $(call mlpc_program_rule,$(strip $(1)),$(strip $(2)),$(3)))
