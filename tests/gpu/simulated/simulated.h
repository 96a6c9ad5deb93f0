/* Between the parts of the simulated device. */
#ifndef SIMULATED_H
#define SIMULATED_H

#include <functional>
#include <vector>

struct simulated_node {
    std::function<void()> call;
    bool kernel;                    /* else a copy */
};
typedef std::vector<simulated_node> simulated_work;

/* Runs the call, or adds it to the graph that is being captured. */
void simulated_submit(bool kernel, const std::function<void()> &call);
/* Something was made (1) or given back (-1). */
void simulated_object(int change);

#endif
