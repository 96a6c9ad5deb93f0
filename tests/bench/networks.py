"""The networks that are measured, in PyTorch's terms: sizes, random weights, the reference in float64, the floor."""

import json
import math
import re
import struct
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F

# Each layer: tensor, inputs, outputs, what follows it. A chain unless SHAPES says otherwise.
LAYERS = {
    "policy": [("actor.0", 64, 256, "tanh"), ("actor.2", 256, 256, "tanh"), ("actor.4", 256, 8, "")],
    "mnist": [("fc1", 784, 512, "relu"), ("fc2", 512, 512, "relu"), ("fc3", 512, 10, "")],
    "nerf64": [("layers.0", 32, 64, "relu")] + [(f"layers.{i}", 64, 64, "relu") for i in (1, 2, 3)]
    + [("layers.4", 64, 16, "")],
    "dlrm_bot": [("bot.0", 16, 512, "relu"), ("bot.2", 512, 256, "relu"), ("bot.4", 256, 128, "relu")],
    "dlrm_top": [("top.0", 480, 1024, "relu"), ("top.2", 1024, 1024, "relu"), ("top.4", 1024, 512, "relu"),
                 ("top.6", 512, 256, "relu"), ("top.8", 256, 1, "sigmoid")],
    "minilm_ffn": [("intermediate.dense", 384, 1536, "gelu"), ("output.dense", 1536, 384, "")],
    "gpt2_ffn": [("c_fc", 768, 3072, "gelu_tanh"), ("c_proj", 3072, 768, "")],
    "llama8b_ffn": [("gate_proj", 4096, 14336, "silu"), ("up_proj", 4096, 14336, ""), ("down_proj", 14336, 4096, "")],
    "deep4096": [(f"layers.{i}", 4096, 4096, "relu") for i in range(8)],
    "seed_wide": [("fc", 16384, 8192, "relu")],
    "digits": [("fc1", 64, 128, "relu"), ("fc2", 128, 64, "relu"), ("fc3", 64, 10, "softmax")],
}
LADDER = [name for name in LAYERS if name != "digits"]      # of specs/ladder
# gated: silu(gate) * up, no biases; normed: a residual around the layers, and a layer norm behind it.
SHAPES = {"llama8b_ffn": "gated", "minilm_ffn": "normed"}
NORM, NORM_EPS = "output.LayerNorm", 1e-12

ACTIVATIONS = {
    "": lambda x: x,
    "relu": F.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "silu": F.silu,
    "gelu": F.gelu,
    "softmax": lambda x: F.softmax(x, dim=-1),
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
}
TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
SAFETENSORS = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}
NUMPY = {torch.float32: "<f4", torch.float16: "<f2", torch.bfloat16: "<V2"}

# The largest error of a row, relative to the length of the row (or of the mean row, where that is longer), and of an
# element, relative to the root of the mean square of all.
TOLERANCE = {torch.float32: (2e-5, 2e-4), torch.float16: (4e-3, 2e-2), torch.bfloat16: (2.5e-2, 0.125)}

# What the floor is made of: operations a second, bytes a second from memory and from the cache, bytes that stay in it.
RATE = {torch.float32: 67e12, torch.float16: 770e12, torch.bfloat16: 770e12}
MEMORY, CACHE, CACHE_SIZE = 4.5e12, 7.5e12, 50e6


@dataclass
class Network:
    name: str
    spec: Path
    batches: list
    dtype: torch.dtype
    layers: list
    shape: str

    @property
    def width(self):
        return self.layers[0][1]

    @property
    def outputs(self):
        return self.layers[-1][2]

    @property
    def weights(self):
        return sum(inputs * outputs for _, inputs, outputs, _ in self.layers)

    def floor(self, rows):
        """The larger of operations and bytes over their rates, in seconds."""
        size = self.dtype.itemsize
        moved = rows * (self.width + self.outputs) * size / MEMORY
        moved += self.weights * size / (CACHE if self.weights * size <= CACHE_SIZE else MEMORY)
        return max(2 * rows * self.weights / RATE[self.dtype], moved)


def read(spec):
    """A network by its spec, which says batch sizes and type; LAYERS says the rest."""
    text = spec.read_text()
    name = re.search(r"^model (\w+)", text, re.M).group(1)
    batches = [int(n) for n in re.search(r"^\s*batch ([\d, ]+);", text, re.M).group(1).split(",")]
    dtype = re.search(r"^\s*dtype (\w+);", text, re.M)
    return Network(name, spec, batches, TYPES[dtype.group(1) if dtype else "f32"], LAYERS[name],
                   SHAPES.get(name, "chain"))


def random_weights(network, device):
    """Weights that keep the size of the numbers from layer to layer, and biases that matter."""
    generator = torch.Generator(device).manual_seed(1)

    def uniform(shape, bound):
        return torch.empty(shape, device=device).uniform_(-bound, bound, generator=generator).to(network.dtype)

    weights = {}
    for name, inputs, outputs, _ in network.layers:
        weights[f"{name}.weight"] = uniform((outputs, inputs), math.sqrt(6 / inputs))
        if network.shape != "gated":
            weights[f"{name}.bias"] = uniform((outputs,), 0.5)
    if network.shape == "normed":
        weights[f"{NORM}.weight"] = 1 + uniform((network.width,), 0.5)
        weights[f"{NORM}.bias"] = uniform((network.width,), 0.5)
    return weights


def random_rows(network, rows, device):
    generator = torch.Generator(device).manual_seed(rows)
    return torch.randn(rows, network.width, device=device, generator=generator, dtype=network.dtype)


def forward(network, weights, x):
    """The plain definition, in the type of its arguments."""
    def linear(x, name):
        return F.linear(x, weights[f"{name}.weight"], weights.get(f"{name}.bias"))

    if network.shape == "gated":
        (gate, _, _, act), (up, *_), (down, *_) = network.layers
        return linear(ACTIVATIONS[act](linear(x, gate)) * linear(x, up), down)
    h = x
    for name, _, _, act in network.layers:
        h = ACTIVATIONS[act](linear(h, name))
    if network.shape == "normed":
        h = F.layer_norm(x + h, (network.width,), weights[f"{NORM}.weight"], weights[f"{NORM}.bias"], NORM_EPS)
    return h


class Judge:
    """Holds results to float64, a part of the rows at a time."""

    PART = 16384

    def __init__(self, network, weights, x):
        self.dtype = network.dtype
        exact = {name: tensor.double() for name, tensor in weights.items()}
        self.reference = [forward(network, exact, part.double()).float() for part in x.split(self.PART)]
        rows = torch.cat([part.norm(dim=1) for part in self.reference])
        elements = sum(part.numel() for part in self.reference)
        self.mean_row = rows.mean()
        self.scale = (rows.double().square().sum() / elements).sqrt()

    def errors(self, y):
        """The largest error of a row and of an element, as TOLERANCE has them; nan where there is no number."""
        row = element = torch.zeros((), device=y.device)
        for part, reference in zip(y.split(self.PART), self.reference, strict=True):
            difference = part.float() - reference
            lengths = torch.maximum(reference.norm(dim=1), self.mean_row)
            row = torch.maximum(row, (difference.norm(dim=1) / lengths).max())
            element = torch.maximum(element, difference.abs().max() / self.scale)
        return float(row), float(element)

    def verdict(self, y):
        """(right?, the errors in words)"""
        if tuple(y.shape) != (sum(len(part) for part in self.reference), self.reference[0].shape[1]):
            return False, f"shape {tuple(y.shape)}"
        row, element = self.errors(y)
        most_row, most_element = TOLERANCE[self.dtype]
        right = row <= most_row and element <= most_element             # false for nan
        return right, f"row {row:.2g} of {most_row:g}, element {element:.2g} of {most_element:g}"


# ---- Files ----

def raw_bytes(tensor):
    flat = tensor.detach().contiguous().cpu().reshape(-1)
    return flat.view(torch.uint8).numpy().data


def write_safetensors(path, weights):
    header, end = {}, 0
    for name, tensor in weights.items():
        size = tensor.numel() * tensor.element_size()
        header[name] = {"dtype": SAFETENSORS[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in weights.values():
            file.write(raw_bytes(tensor))


def write_npy(path, rows):
    text = f"{{'descr': '{NUMPY[rows.dtype]}', 'fortran_order': False, 'shape': {tuple(rows.shape)}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
        file.write(raw_bytes(rows))


def path_size(path):
    return Path(path).stat().st_size


def read_npy(path, dtype, device):
    with open(path, "rb") as file:
        start = file.read(10)
        header = file.read(struct.unpack("<H", start[8:])[0]).decode()
        shape = [int(n) for n in re.search(r"'shape': \((\d+), (\d+)\)", header).groups()]
        data = bytearray(path_size(path) - file.tell())
        file.readinto(data)
    if start[:6] != b"\x93NUMPY" or NUMPY[dtype] not in header:
        raise ValueError(f"{path} holds {header.strip()}")
    return torch.frombuffer(data, dtype=dtype).view(shape).to(device)
