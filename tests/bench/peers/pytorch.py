"""PyTorch as a contender of the CPU bench, eager or compiled; it answers the commands that peer.c describes.

    pytorch.py THREADS SPEC eager|compiled

Weights are those that networks.py makes for the spec."""

import functools
import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from networks import forward, random_weights, read                          # noqa: E402

WARM_UP_PART = 8


class Module(torch.nn.Module):
    """Holds the weights where torch.compile knows them as constants."""

    def __init__(self, network, weights):
        super().__init__()
        self.network = network
        self.held = {name: name.replace(".", "_") for name in weights}
        for name, tensor in weights.items():
            self.register_buffer(self.held[name], tensor)

    def forward(self, x):
        return forward(self.network, {name: getattr(self, held) for name, held in self.held.items()}, x)


class Peer:
    def __init__(self, spec, compiled):
        self.network = read(Path(spec))
        self.weights = random_weights(self.network, "cpu")
        self.compiled = compiled
        self.call = self.x = None

    def make(self):
        """Compiled for one number of rows."""
        if not self.compiled:
            return functools.partial(forward, self.network, self.weights)
        torch._dynamo.reset()
        return torch.compile(Module(self.network, self.weights).eval(), dynamic=False)

    def check(self, rows, source, target):
        values = torch.frombuffer(bytearray(Path(source).read_bytes()), dtype=torch.float32)
        self.x = values.view(int(rows), self.network.width)
        self.call = self.make()
        y = self.call(self.x)
        if tuple(y.shape) != (int(rows), self.network.outputs):
            raise ValueError(f"shape {tuple(y.shape)}")
        Path(target).write_bytes(y.contiguous().numpy().tobytes())
        return ""

    def burst(self, count):
        call, x, count = self.call, self.x, int(count)
        for _ in range(1 + count // WARM_UP_PART):
            call(x)
        begun = time.perf_counter()
        for _ in range(count):
            call(x)
        return f"{(time.perf_counter() - begun) / count:.9g}"


def main():
    threads, spec, kind = sys.argv[1:]
    torch.set_num_threads(int(threads))
    torch._inductor.config.freezing = True
    peer = Peer(spec, kind == "compiled")
    print("ok", flush=True)
    for line in sys.stdin:
        command, *arguments = line.split()
        try:
            answer = f"ok {({'check': peer.check, 'burst': peer.burst}[command])(*arguments)}"
        except Exception as error:                  # whatever PyTorch raises is an answer too
            answer = f"error {type(error).__name__}: {' '.join(str(error).split())[:300]}"
        print(answer, flush=True)


if __name__ == "__main__":
    with torch.inference_mode():
        main()
