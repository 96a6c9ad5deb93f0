"""The weights, inputs and expected outputs of specs/examples: python3 tests/reference/examples.py, which needs NumPy.

Outputs are computed in float64 from weights and inputs as they are stored, by formulas written down here once more, and
rounded to the output's type at the end. Nothing of mlpc takes part."""
import json
import math
import os
import shutil

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SPECS = os.path.join(ROOT, "specs", "examples")
CASES = os.path.join(ROOT, "tests", "cases", "examples")
TRAINED = os.path.join(ROOT, "tests", "cases", "pytorch", "breast_cancer_bn")

# ---- Files ----


def bf16(x):
    """To nearest even; finite numbers only."""
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return (((bits + 0x7fff + (bits >> 16 & 1)) >> 16) << 16).astype(np.uint32).view(np.float32)


def bf16_bits(x):
    return (bf16(x).view(np.uint32) >> 16).astype("<u2")


def write_safetensors(path, tensors, dtype):
    header, data = {}, b""
    for name, tensor in sorted(tensors.items()):
        raw = (bf16_bits(tensor) if dtype == "BF16" else np.asarray(tensor, "<f4")).tobytes()
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


def read_safetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    return {name: np.frombuffer(data[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
            for name, entry in header.items() if name != "__metadata__"}


def write_npy(path, x, dtype):
    if dtype != "BF16":
        np.save(path, np.asarray(x, "<f4"))
        return
    with open(path, "wb") as file:      # NumPy writes |V2 by itself
        np.lib.format.write_array_header_1_0(file, {"descr": "<V2", "fortran_order": False, "shape": x.shape})
        file.write(bf16_bits(x).tobytes())


# ---- Formulas, on float64 ----

erf = np.vectorize(math.erf)


def relu(x):
    return np.maximum(x, 0)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def elu(x):
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def gelu(x):
    return x / 2 * (1 + erf(x / math.sqrt(2)))


def gelu_tanh(x):
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def dot(a, b):
    return (a * b).sum(1, keepdims=True)


class Weights:
    """Tensors by name, and the layers that read them."""

    def __init__(self, tensors):
        self.tensors = {name: np.asarray(tensor, np.float64) for name, tensor in tensors.items()}

    def __getitem__(self, name):
        return self.tensors[name]

    def linear(self, x, name):
        return x @ self[name + ".weight"].T + self.tensors.get(name + ".bias", 0)

    def conv1d(self, x, name):
        return x @ self[name + ".weight"] + self[name + ".bias"]

    def layernorm(self, x, name):
        off = x - x.mean(1, keepdims=True)
        variance = (off ** 2).mean(1, keepdims=True)
        return off / np.sqrt(variance + 1e-5) * self[name + ".weight"] + self[name + ".bias"]

    def rmsnorm(self, x, name, eps, offset):
        return x / np.sqrt((x ** 2).mean(1, keepdims=True) + eps) * (offset + self[name + ".weight"])

    def batchnorm(self, x, name):
        scale = self[name + ".weight"] / np.sqrt(self[name + ".running_var"] + 1e-5)
        return (x - self[name + ".running_mean"]) * scale + self[name + ".bias"]


class Random:
    def __init__(self, seed):
        self.generator = np.random.default_rng(seed)
        self.tensors = {}

    def normal(self, *shape):
        return self.generator.standard_normal(shape).astype(np.float32)

    def linear(self, name, out, width, bias=True, transposed=False):
        weight = self.normal(out, width) * np.float32(math.sqrt(2 / width))
        self.tensors[name + ".weight"] = weight.T.copy() if transposed else weight
        if bias:
            self.tensors[name + ".bias"] = self.normal(out) / np.float32(4)

    def norm(self, name, width, bias=False, around=1):
        self.tensors[name + ".weight"] = around + self.normal(width) / np.float32(4)
        if bias:
            self.tensors[name + ".bias"] = self.normal(width) / np.float32(4)

    def positive(self, *shape):
        return np.exp(self.normal(*shape))


# ---- The networks: each gives its tensors, its inputs, and a function of both ----


def ranking():
    r = Random(1)
    r.linear("bot_l.0", 64, 13), r.linear("bot_l.2", 16, 64)
    r.linear("top_l.0", 64, 22), r.linear("top_l.2", 32, 64), r.linear("top_l.4", 1, 32)

    def compute(w, dense, sparse):
        x = relu(w.linear(relu(w.linear(dense, "bot_l.0")), "bot_l.2"))
        rows = [x] + [sparse[:, 16 * i:16 * i + 16] for i in range(3)]
        pairs = [dot(rows[i], rows[j]) for i in range(4) for j in range(i)]
        h = relu(w.linear(np.concatenate([x] + pairs, 1), "top_l.0"))
        return {"click": sigmoid(w.linear(relu(w.linear(h, "top_l.2")), "top_l.4"))}
    return r.tensors, {"dense": r.normal(9, 13), "sparse": r.normal(9, 48) / 4}, compute


def retrieval():
    r = Random(2)
    for name, width in ("user", 40), ("item", 28):
        r.linear(name + ".0", 64, width), r.linear(name + ".2", 24, 64)
    r.tensors["logit_scale"] = np.float32(math.log(1 / 0.07)).reshape(())

    def tower(w, x, name):
        v = w.linear(gelu(w.linear(x, name + ".0")), name + ".2")
        return v / np.maximum(np.sqrt(dot(v, v)), 1e-12)

    def compute(w, user, item):
        u, i = tower(w, user, "user"), tower(w, item, "item")
        return {"user_vector": u, "item_vector": i, "score": np.exp(w["logit_scale"]) * dot(u, i)}
    return r.tensors, {"user": r.normal(11, 40), "item": r.normal(11, 28)}, compute


def gpt2_ffn():
    r = Random(3)
    r.norm("h.0.ln_2", 48, bias=True)
    r.linear("h.0.mlp.c_fc", 192, 48, transposed=True), r.linear("h.0.mlp.c_proj", 48, 192, transposed=True)

    def compute(w, x):
        h = gelu_tanh(w.conv1d(w.layernorm(x, "h.0.ln_2"), "h.0.mlp.c_fc"))
        return {"y": x + w.conv1d(h, "h.0.mlp.c_proj")}
    return r.tensors, {"x": r.normal(7, 48)}, compute


def gated(w, n, activation, layer):
    gate, up = w.linear(n, layer + ".mlp.gate_proj"), w.linear(n, layer + ".mlp.up_proj")
    return w.linear(activation(gate) * up, layer + ".mlp.down_proj")


def llama_ffn():
    r, layer = Random(4), "model.layers.0"
    r.norm(layer + ".post_attention_layernorm", 64)
    r.linear(layer + ".mlp.gate_proj", 176, 64, bias=False), r.linear(layer + ".mlp.up_proj", 176, 64, bias=False)
    r.linear(layer + ".mlp.down_proj", 64, 176, bias=False)

    def compute(w, x):
        n = w.rmsnorm(x, layer + ".post_attention_layernorm", 1e-5, 0)
        return {"y": x + gated(w, n, silu, layer)}
    return r.tensors, {"x": r.normal(5, 64)}, compute


def gemma_ffn():
    r, layer = Random(5), "model.layers.0"
    r.norm(layer + ".pre_feedforward_layernorm", 48, around=0)
    r.norm(layer + ".post_feedforward_layernorm", 48, around=0)
    r.linear(layer + ".mlp.gate_proj", 144, 48, bias=False), r.linear(layer + ".mlp.up_proj", 144, 48, bias=False)
    r.linear(layer + ".mlp.down_proj", 48, 144, bias=False)

    def compute(w, x):
        down = gated(w, w.rmsnorm(x, layer + ".pre_feedforward_layernorm", 1e-6, 1), gelu_tanh, layer)
        return {"y": x + w.rmsnorm(down, layer + ".post_feedforward_layernorm", 1e-6, 1)}
    return r.tensors, {"x": 3 * r.normal(5, 48)}, compute


def actor_critic():
    r = Random(6)
    for name in "policy_net", "value_net":
        r.linear("mlp_extractor." + name + ".0", 64, 17), r.linear("mlp_extractor." + name + ".2", 64, 64)
    r.linear("action_net", 6, 64), r.linear("value_net", 1, 64)
    r.tensors["obs_rms.mean"], r.tensors["obs_rms.var"] = 3 * r.normal(17), r.positive(17)

    def compute(w, observation):
        def trunk(name):
            h = np.tanh(w.linear(state, "mlp_extractor." + name + ".0"))
            return np.tanh(w.linear(h, "mlp_extractor." + name + ".2"))
        state = np.clip((observation - w["obs_rms.mean"]) / np.sqrt(w["obs_rms.var"] + 1e-8), -10, 10)
        return {"action": np.clip(w.linear(trunk("policy_net"), "action_net"), -1, 1),
                "value": w.linear(trunk("value_net"), "value_net")}
    return r.tensors, {"observation": 5 * r.normal(13, 17)}, compute


def nerf():
    r = Random(7)
    for i in range(8):
        r.linear("pts_linears.%d" % i, 32, 63 if i == 0 else 95 if i == 5 else 32)
    r.linear("alpha_linear", 1, 32), r.linear("feature_linear", 32, 32)
    r.linear("views_linears.0", 16, 59), r.linear("rgb_linear", 3, 16)

    def encode(x, octaves):
        waves = [f(2.0 ** i * x) for i in range(octaves) for f in (np.sin, np.cos)]
        return np.concatenate([x] + waves, 1)

    def compute(w, point, direction):
        h = point
        for i in range(8):
            h = relu(w.linear(np.concatenate([point, h], 1) if i == 5 else h, "pts_linears.%d" % i))
        views = np.concatenate([w.linear(h, "feature_linear"), direction], 1)
        return {"density": relu(w.linear(h, "alpha_linear")),
                "color": sigmoid(w.linear(relu(w.linear(views, "views_linears.0")), "rgb_linear"))}
    return r.tensors, {"point": encode(r.normal(21, 3), 10), "direction": encode(r.normal(21, 3), 4)}, compute


def autoencoder():
    r = Random(8)
    r.linear("encoder.0", 32, 64), r.linear("encoder.2", 8, 32)
    r.linear("decoder.0", 32, 8), r.linear("decoder.2", 64, 32)

    def compute(w, x):
        code = w.linear(elu(w.linear(x, "encoder.0")), "encoder.2")
        restored = sigmoid(w.linear(elu(w.linear(code, "decoder.0")), "decoder.2"))
        return {"code": code, "error": ((x - restored) ** 2).mean(1, keepdims=True)}
    return r.tensors, {"x": r.generator.random((10, 64))}, compute


def surrogate():
    r = Random(9)
    r.tensors["inputs.mean"], r.tensors["inputs.std"] = 20 * r.normal(9), 5 * r.positive(9)
    r.tensors["outputs.mean"], r.tensors["outputs.std"] = 10 * r.normal(3), r.positive(3)
    r.linear("first", 48, 9), r.linear("last", 3, 48)
    for i in range(4):
        block = "blocks.%d" % i
        r.norm(block + ".norm", 48, bias=True), r.linear(block + ".fc1", 48, 48), r.linear(block + ".fc2", 48, 48)

    def compute(w, x):
        h = w.linear((x - w["inputs.mean"]) / w["inputs.std"], "first")
        for i in range(4):
            block = "blocks.%d" % i
            h = h + w.linear(silu(w.linear(w.layernorm(h, block + ".norm"), block + ".fc1")), block + ".fc2")
        return {"y": w["outputs.mean"] + w["outputs.std"] * w.linear(h, "last")}
    x = r.tensors["inputs.mean"] + r.tensors["inputs.std"] * r.normal(12, 9)
    return r.tensors, {"x": x}, compute


def tabular():
    tensors = read_safetensors(os.path.join(TRAINED, "weights.safetensors"))

    def compute(w, x):
        h = relu(w.batchnorm(w.linear(w.batchnorm(x, "0"), "1"), "2"))
        return {"y": sigmoid(w.linear(relu(w.linear(h, "4")), "6"))}
    return tensors, {"x": np.load(os.path.join(TRAINED, "in_x.npy"))[:40]}, compute


NETWORKS = [ranking, retrieval, gpt2_ffn, llama_ffn, gemma_ffn, actor_critic, nerf, autoencoder, surrogate, tabular]
# bf16 keeps 8 bits, so rounding moves a number by up to 2^-8 of itself. Of y, both sides are rounded: up to 2^-7. What
# is stored before it, the norm and gate * up, is rounded on one side, and averaged by the last product.
IN_BF16 = {"llama_ffn": 2 ** -7 + 2 ** -8}


def main():
    for network in NETWORKS:
        name = network.__name__
        dtype = "BF16" if name in IN_BF16 else "F32"
        stored = bf16 if dtype == "BF16" else np.float32
        tensors, inputs, compute = network()
        folder = os.path.join(CASES, name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        write_safetensors(os.path.join(SPECS, name + ".safetensors"), tensors, dtype)
        weights = Weights({key: stored(tensor) for key, tensor in tensors.items()})
        for key, x in inputs.items():
            write_npy(os.path.join(folder, "in_%s.npy" % key), x, dtype)
        outputs = compute(weights, **{key: np.float64(stored(x)) for key, x in inputs.items()})
        for key, y in outputs.items():
            write_npy(os.path.join(folder, "out_%s.npy" % key), y, dtype)
        case = {"spec": "../../../../specs/examples/%s.mlp" % name}
        if name in IN_BF16:
            case["tolerance"] = IN_BF16[name]
        with open(os.path.join(folder, "case.json"), "w") as file:
            json.dump(case, file, indent=1)
            file.write("\n")


main()
