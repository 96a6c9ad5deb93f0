#ifndef MLPC_VERSION_H
#define MLPC_VERSION_H

#define MLPC_VERSION "0.1.0"
#define MLPC_RUNTIME_VERSION 1      /* MLP_RUNTIME_VERSION of the mlp_runtime.h that generated code is made for */

#endif
