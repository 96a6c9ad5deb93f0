/* A contender that runs one row and ends, to see how long its start takes:
 *
 *     ONCE INPUTS OUTPUTS INPUT OUTPUT [ARGUMENT...]
 *
 * reads and writes files of floats. It leaves as soon as the result is written: nothing is taken down. */
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    struct peer_network network = {1, strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10), argv + 5};
    float *x = peer_read(argv[3], network.inputs), *y = peer_floats(network.outputs);
    const char *failure = x && y ? peer_open(&network) : "cannot read the row";
    if (!failure)
        failure = peer_run(1, x, y);
    if (!failure && peer_write(argv[4], y, network.outputs))
        failure = "cannot write the result";
    if (failure)
        fprintf(stderr, "%s: %s\n", argv[0], failure);
    _exit(failure ? 1 : 0);
}
