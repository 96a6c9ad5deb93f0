/* The products in the tiles of processors with 32 registers of 16 bytes. */
#define MLP_LANES 4
#define MLP_TILE_HEIGHT 6
#define MLP_TILE_STREAMS 4
#define MLP_TILE_PIN(a) (void)0
#include "runtime_tile.c"
