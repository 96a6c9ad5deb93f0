"""What is compared. A contender gives its result for the rows at hand, and is timed in three ways:

    steady(repeats)     seconds of a run on the device, with so many in a row in one CUDA graph
    single(lead, count) seconds of each of `count` launches of a graph, between device events
    latency(count)      seconds of each of `count` launches, on the host's clock

mlpc's networks run in processes of their own (network.c); those of PyTorch and nvmath-python are recorded in CUDA
graphs, which launches.c launches: the same code times all.
"""

import ctypes

import torch
import torch.nn.functional as F

from networks import ACTIVATIONS, NORM, NORM_EPS, forward, read_npy
from process import Failed, Process


# ---- mlpc ----

class Generated(Process):
    """A network that mlpc generated."""

    def __init__(self, program, weights, exchange):
        super().__init__([program, weights])
        self.exchange = exchange
        self.rows = 0

    def result(self, rows_file, x):
        self.rows = len(x)
        self.ask("check", rows_file, self.exchange)
        return read_npy(self.exchange, x.dtype, x.device)

    def prepare(self, repeats):
        pass

    def steady(self, repeats):
        return self.numbers("steady", self.rows, repeats)[0]

    def single(self, lead, count):
        return self.numbers("single", self.rows, lead, count)

    def latency(self, count):
        return self.numbers("latency", self.rows, count)


# ---- CUDA graphs ----

class Launches:
    """launches.c, by way of its library."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.bench_error_text.restype = ctypes.c_char_p

    def __call__(self, name, *arguments):
        error = getattr(self.library, name)(*arguments)
        if error:
            raise Failed(f"{name}: {self.library.bench_error_text(error).decode()}")

    def times(self, name, count, *arguments):
        seconds = (ctypes.c_double * count)()
        self(name, *arguments, seconds)
        return list(seconds)


class Recording:
    """So many calls of a function in a row, as a CUDA graph."""

    def __init__(self, launches, call, repeats):
        self.launches = launches
        self.graph = torch.cuda.CUDAGraph(keep_graph=True)
        self.ready = ctypes.c_void_p()
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            for _ in range(repeats):
                self.y = call()
        launches("bench_ready", ctypes.c_void_p(self.graph.raw_cuda_graph()), ctypes.byref(self.ready))

    def close(self):
        self.launches("bench_release", self.ready)
        self.graph = self.y = None


class Graph:
    """A function of PyTorch tensors."""

    WARM_CALLS = 3

    def __init__(self, launches, call):
        self.launches, self.call = launches, call
        self.once = self.many = None
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(self.WARM_CALLS):
                call()
        torch.cuda.synchronize()
        self.once = Recording(launches, call, 1)

    def result(self, _rows_file, _x):
        self.once.y.fill_(float("nan"))
        torch.cuda.synchronize()
        self.launches("bench_graph_run", self.once.ready)
        return self.once.y

    def prepare(self, repeats):
        if self.many:
            self.many.close()
        self.many, self.repeats = Recording(self.launches, self.call, repeats), repeats

    def steady(self, repeats):
        if not self.many or self.repeats != repeats:
            self.prepare(repeats)
        return self.launches.times("bench_graph_steady", 1, self.many.ready)[0] / repeats

    def single(self, lead, count):
        lead, many = ctypes.c_size_t(lead), ctypes.c_size_t(count)
        return self.launches.times("bench_graph_single", count, self.once.ready, lead, many)

    def latency(self, count):
        return self.launches.times("bench_graph_latency", count, self.once.ready, ctypes.c_size_t(count))

    def close(self):
        for recording in (self.once, self.many):
            if recording:
                recording.close()
        self.call = self.once = self.many = None


# ---- PyTorch ----

def with_joined_gate(network, weights, x):
    """Gate and up projections as one product."""
    (gate, *_), (up, *_), (down, *_) = network.layers
    joined = torch.cat([weights[f"{gate}.weight"], weights[f"{up}.weight"]])

    def call():
        gated, raised = F.linear(x, joined).chunk(2, dim=-1)
        return F.linear(F.silu(gated) * raised, weights[f"{down}.weight"])
    return call


def with_fused_epilogues(network, weights, x):
    """relu and gelu as PyTorch can have cuBLASLt do them: by a function that is not in its public interface."""
    columns = {name: (weights[f"{name}.weight"].t(), weights[f"{name}.bias"]) for name, *_ in network.layers}

    def call():
        h = x
        for name, _, _, act in network.layers:
            weight, bias = columns[name]
            if act in ("relu", "gelu_tanh"):
                h = torch._addmm_activation(bias, h, weight, use_gelu=act != "relu")
            else:
                h = ACTIVATIONS[act](torch.addmm(bias, h, weight))
        return h
    return call


def eager_forms(network, weights, x):
    yield "plain", lambda: forward(network, weights, x)
    if network.shape == "gated":
        yield "joined", with_joined_gate(network, weights, x)
    if network.shape == "chain":
        yield "fused", with_fused_epilogues(network, weights, x)


def compiled_forms(network, weights, x, tuned):
    options = {"max_autotune": True} if tuned else None
    forms = [("plain", lambda: forward(network, weights, x))]
    if network.shape == "gated":
        forms.append(("joined", with_joined_gate(network, weights, x)))
    torch._dynamo.reset()           # so that no point is compiled for the sizes of another
    for name, call in forms:
        yield f"{name}, max-autotune" if tuned else name, torch.compile(call, dynamic=False, options=options)


# ---- nvmath-python ----

class Product:
    """A linear layer by nvmath-python's Matmul, autotuned: from [rows, inputs] to [rows, outputs]."""

    ITERATIONS = 4

    def __init__(self, weight, bias, act, x):
        from nvmath.linalg.advanced import Matmul, MatmulEpilog
        epilogs = {"relu": MatmulEpilog.RELU_BIAS, "gelu_tanh": MatmulEpilog.GELU_BIAS}
        self.biased = bias is not None
        self.after = ACTIVATIONS[act] if not self.biased or act not in epilogs else ACTIVATIONS[""]
        if self.biased:             # the library adds a bias along the rows of the result: it is computed transposed
            self.matmul = Matmul(weight, x.t())
            self.matmul.plan(epilog=epilogs.get(act, MatmulEpilog.BIAS), epilog_inputs={"bias": bias})
        else:
            self.matmul = Matmul(x, weight.t())
            self.matmul.plan()
        self.matmul.autotune(iterations=self.ITERATIONS)

    def __call__(self, x):
        if self.biased:
            self.matmul.reset_operands(b=x.t())
            return self.after(self.matmul.execute().t())
        self.matmul.reset_operands(a=x)
        return self.after(self.matmul.execute())


def nvmath_chain(network, weights, x):
    products, h = [], x
    for name, _, _, act in network.layers:
        products.append(Product(weights[f"{name}.weight"], weights[f"{name}.bias"], act, h))
        h = products[-1](h)

    def call():
        h = x
        for product in products:
            h = product(h)
        if network.shape == "normed":
            h = F.layer_norm(x + h, (network.width,), weights[f"{NORM}.weight"], weights[f"{NORM}.bias"], NORM_EPS)
        return h
    return call


def nvmath_gated(network, weights, x):
    (gate, *_), (up, *_), (down, *_) = network.layers
    joined = Product(torch.cat([weights[f"{gate}.weight"], weights[f"{up}.weight"]]), None, "", x)

    def gated():
        gate, up = joined(x).chunk(2, dim=-1)
        return F.silu(gate) * up
    last = Product(weights[f"{down}.weight"], None, "", gated())
    return lambda: last(gated())


def nvmath_forms(network, weights, x):
    yield "", (nvmath_gated if network.shape == "gated" else nvmath_chain)(network, weights, x)


def fastest(launches, forms):
    """The fastest of several forms of a network, its name, and why others failed."""
    best, least, chosen, complaints = None, 0, "", []
    for name, call in forms:
        try:
            graph = Graph(launches, call)
            seconds = min(graph.single(1, 5))
        except Exception as error:          # whatever libraries raise: the other forms may work
            complaints.append(f"{name}: {first_line(error)}")
            continue
        if best and seconds >= least:
            graph.close()
            continue
        if best:
            best.close()
        best, least, chosen = graph, seconds, name
    if not best:
        raise Failed("; ".join(complaints))
    return best, "; ".join([chosen] + complaints)


def first_line(error):
    text = str(error).strip() or type(error).__name__
    return f"{type(error).__name__}: {text.splitlines()[0][:200]}"
