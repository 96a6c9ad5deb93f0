"""Writes tests/cases/import: models as exporters write them, and such as must be refused.

    env/bin/python tests/onnx/make_cases.py          (needs onnx and numpy)

References are computed here, in float64, from the weights as they are stored. The files are committed; only a change of
the cases needs this script.
"""

import math
import os
import shutil

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = os.path.join(os.path.dirname(__file__), "..", "cases", "import")
F32, F16, BF16, F64, I64 = (
    TensorProto.FLOAT,
    TensorProto.FLOAT16,
    TensorProto.BFLOAT16,
    TensorProto.DOUBLE,
    TensorProto.INT64,
)
random = np.random.RandomState(7)


def array(*shape, scale=0.5, dtype="f4"):
    return (random.randn(*shape) * scale).astype(dtype)


def tensor(name, values, dtype=None):
    return numpy_helper.from_array(np.asarray(values, dtype) if dtype else np.asarray(values), name)


def ints(name, *values):
    return tensor(name, np.array(values, np.int64))


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


value_info = helper.make_tensor_value_info


def port(name, shape, kind=F32):
    return value_info(name, kind, shape)


def model(nodes, inputs, outputs, initializers=(), opset=17, **options):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1) for d in options.pop("domains", ())]
    return helper.make_model(
        graph, opset_imports=opsets, ir_version=options.pop("ir", 8), producer_name="make_cases", **options
    )


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


erf = np.vectorize(math.erf)


def gelu(x):
    return x / 2 * (1 + erf(x / math.sqrt(2)))


def gelu_tanh(x):
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layernorm(x, w, b, eps=1e-5):
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d * d).mean(-1, keepdims=True) + eps) * w + b


accepted, refused = [], []


def accept(name, made, inputs, outputs, options="", words=()):
    """`words`: texts that the spec must hold."""
    folder = os.path.join(FOLDER, name)
    os.makedirs(folder)
    onnx.save(made, os.path.join(folder, "model.onnx"))
    for begin, arrays in (("in", inputs), ("out", outputs)):
        for key, value in arrays.items():
            value = np.asarray(value)
            np.save(os.path.join(folder, f"{begin}_{key}.npy"), value if begin == "in" else value.astype("f4"))
    accepted.append((name, options or "-", "|".join(words) or "-"))


def refuse(name, made, *reasons):
    onnx.save(made, os.path.join(FOLDER, "refused", f"{name}.onnx"))
    refused.append((name, "|".join(reasons)))


def f64(*arrays):
    return [np.asarray(a, np.float64) for a in arrays]


# ---- accepted ----


def old_exporter():
    """TorchScript's form: a view by sizes, Gemm, a batchnorm; initializers that are inputs too, nodes out of order."""
    x, w1, b1, w2, b2 = array(5, 3, 4), array(8, 12), array(8), array(6, 8), array(6)
    scale, shift, mean, var = array(8), array(8), array(8), random.uniform(0.5, 2, 8).astype("f4")
    nodes = [
        node("Gemm", "flat fc1.weight fc1.bias", "/fc1/Gemm_output_0", transB=1),
        node("Shape", "x", "s"),
        node("Gather", "s zero", "n", axis=0),
        node("Unsqueeze", "n", "n1", axes=[0]),
        node("Concat", "n1 minus", "shape", axis=0),
        node("Reshape", "x shape", "flat"),
        node(
            "BatchNormalization",
            "/fc1/Gemm_output_0 bn.weight bn.bias bn.running_mean bn.running_var",
            "normed",
            epsilon=1e-3,
        ),
        node("Relu", "normed", "h"),
        node("Dropout", "h", "dropped"),
        node("Gemm", "dropped onnx::Gemm_9 fc2.bias", "logits", alpha=0.5, beta=2.0),
        node("LogSoftmax", "logits", "y", axis=1),
    ]
    initial = [
        tensor("fc1.weight", w1),
        tensor("fc1.bias", b1),
        tensor("onnx::Gemm_9", w2.T.copy()),
        tensor("fc2.bias", b2),
        tensor("bn.weight", scale),
        tensor("bn.bias", shift),
        tensor("bn.running_mean", mean),
        tensor("bn.running_var", var),
        tensor("zero", np.int64(0)),
        ints("minus", -1),
    ]
    made = model(
        nodes,
        [port("x", ["batch", 3, 4])] + [port(t.name, t.dims, t.data_type) for t in initial[:8]],
        [port("y", ["batch", 6])],
        initial,
        opset=11,
    )
    X, W1, B1, W2, B2, S, T, M, V = f64(x, w1, b1, w2, b2, scale, shift, mean, var)
    h = np.maximum(((X.reshape(5, 12) @ W1.T + B1) - M) / np.sqrt(V + np.float64(np.float32(1e-3))) * S + T, 0)
    y = np.log(softmax(0.5 * (h @ W2.T) + 2 * B2))
    accept(
        "old_exporter",
        made,
        {"x": x},
        {"y": y},
        words=['batchnorm(linear(x, 8, "fc1"), "bn", eps=0.001)', 'linear(h, 6, "fc2")', "log_softmax("],
    )


def spelled_out():
    """Functions in their parts, as exporters without the operators write them; tokens in a second dimension."""
    x, w1, b1, w2, g, b, r = array(2, 3, 8), array(8, 8), array(8), array(8, 8), array(8), array(8), array(8)
    nodes = [
        node("ReduceMean", "x", "m", axes=[-1]),
        node("Sub", "x m", "d"),
        node("Sub", "x m", "d2"),
        node("Pow", "d2 two", "p"),
        node("ReduceMean", "p", "v", axes=[-1]),
        node("Add", "v eps", "ve"),
        node("Sqrt", "ve", "s"),
        node("Div", "d s", "n"),
        node("Mul", "n ln.weight", "nw"),
        node("Add", "nw ln.bias", "ln"),
        node("MatMul", "ln onnx::MatMul_40", "mm"),
        node("Add", "fc.bias mm", "fc"),
        node("Div", "fc root2", "e"),
        node("Erf", "e", "erf"),
        node("Add", "erf one", "e1"),
        node("Mul", "fc e1", "fe"),
        node("Mul", "fe half", "gelu"),
        node("MatMul", "gelu W2", "h"),
        node("Pow", "h three", "h3"),
        node("Mul", "h3 c", "ch3"),
        node("Add", "h ch3", "sum"),
        node("Mul", "sum k", "ks"),
        node("Tanh", "ks", "t"),
        node("Add", "t one", "t1"),
        node("Mul", "h half", "hh"),
        node("Mul", "hh t1", "gt"),
        node("Sigmoid", "gt", "sg"),
        node("Mul", "gt sg", "silu"),
        node("Softplus", "silu", "sp"),
        node("Tanh", "sp", "tsp"),
        node("Mul", "silu tsp", "mish"),
        node("Mul", "mish mish", "sq"),
        node("ReduceMean", "sq", "ms", axes=[2]),
        node("Add", "ms eps6", "mse"),
        node("Sqrt", "mse", "rms"),
        node("Reciprocal", "rms", "irms"),
        node("Mul", "mish irms", "rn"),
        node("Mul", "rms.weight rn", "y"),
    ]
    initial = [
        tensor("two", np.float32(2)),
        tensor("eps", np.float32(1e-5)),
        tensor("ln.weight", g),
        tensor("ln.bias", b),
        tensor("onnx::MatMul_40", w1),
        tensor("fc.bias", b1),
        tensor("root2", np.float32(math.sqrt(2))),
        tensor("one", np.float32(1)),
        tensor("half", np.float32(0.5)),
        tensor("W2", w2),
        tensor("three", np.float32(3)),
        tensor("c", np.float32(0.044715)),
        tensor("k", np.float32(math.sqrt(2 / math.pi))),
        tensor("eps6", np.float32(1e-6)),
        tensor("rms.weight", r),
    ]
    made = model(nodes, [port("x", ["batch", "tokens", 8])], [port("y", ["batch", "tokens", 8])], initial, opset=13)
    X, W1, B1, W2, G, B, R = f64(x, w1, b1, w2, g, b, r)
    h = gelu_tanh(gelu(layernorm(X, G, B) @ W1 + B1) @ W2)
    h = h * sigmoid(h)
    h = h * np.tanh(np.log1p(np.exp(h)))
    y = h / np.sqrt((h * h).mean(-1, keepdims=True) + 1e-6) * R
    accept(
        "spelled_out",
        made,
        {"x": x},
        {"y": y},
        words=['layernorm(x, "ln")', '"fc")', "gelu(", "gelu_tanh(", "silu(", "mish(", "rmsnorm(", '"rms"'],
    )


def columns():
    """What takes columns; several outputs, of which two are the same and one is read inside."""
    x, w = array(4, 2, 6), array(1, 5, 3)
    nodes = [
        node("Split", "x sizes", "a b c", axis=-1),
        node("Concat", "c a", "ca", axis=2),
        node("Flatten", "ca", "flat"),
        node("Gather", "flat list", "picked", axis=1),
        node("Slice", "flat start end axis step", "back"),
        node("Transpose", "b", "turned", perm=[0, 2, 1]),
        node("Reshape", "turned six", "row"),
        node("Squeeze", "b1 two", "sq"),
        node("Unsqueeze", "sq two", "b1x"),
        node("Slice", "b from1 to2 two", "b1"),
        node("ReduceSum", "picked last", "sum", keepdims=1),
        node("ReduceMean", "back", "mean", axes=[1], keepdims=0),
        node("Unsqueeze", "mean last", "mean1"),
        node("Max", "sum mean1", "max"),
        node("Clip", "max low high", "clip"),
        node("Min", "clip row point", "least"),
        node("Identity", "least", "first"),
        node("Identity", "least", "second"),
        node("Exp", "first", "third"),
        node("ReduceL2", "picked", "norm", axes=[1], keepdims=1),
        node("Div", "picked norm", "unit"),
    ]
    initial = [
        ints("sizes", 2, 3, 1),
        ints("list", 0, 1, -1, 3),
        ints("start", -1),
        ints("end", -100),
        ints("axis", 1),
        ints("step", -2),
        ints("two", 2),
        ints("from1", 1),
        ints("to2", 2),
        ints("last", 1),
        ints("six", 0, 6),
        tensor("low", np.float32(-0.25)),
        tensor("high", np.float32(0.75)),
        tensor("point", np.float32(0.125)),
    ]
    made = model(
        nodes,
        [port("x", ["n", 2, 6])],
        [port(n, None) for n in ("first", "second", "third", "unit", "x", "b1x")],
        initial,
        opset=13,
    )
    X = x.astype(np.float64)
    a, b, c = X[..., :2], X[..., 2:5], X[..., 5:]
    flat = np.concatenate([c, a], 2).reshape(4, 6)
    picked, back = flat[:, [0, 1, -1, 3]], flat[:, ::-2]
    row = b.transpose(0, 2, 1).reshape(4, 6)
    top = np.maximum(picked.sum(1, keepdims=True), back.mean(1, keepdims=True))
    least = np.minimum(np.minimum(np.clip(top, -0.25, 0.75), row), 0.125)
    accept(
        "columns",
        made,
        {"x": x},
        {
            "first": least,
            "second": least,
            "third": np.exp(least),
            "unit": picked / np.linalg.norm(picked, axis=1, keepdims=True),
            "x": X,
            "b1x": b[:, :, 1:2],
        },
        words=["output second = first;", "output x_2 = x;", "exp(first)"],
    )


def activations():
    """Each on columns of its own, with numbers that are not the language's."""
    x, slope = array(6, 4, scale=2), random.uniform(0.1, 0.9, (4,)).astype("f4")
    table = [
        (node("PRelu", "x slope", "a0"), lambda v: np.where(v > 0, v, slope * v)),
        (node("HardSigmoid", "x", "a1"), lambda v: np.clip(0.2 * v + 0.5, 0, 1)),
        (
            node("Selu", "x", "a2"),
            lambda v: 1.0507010221481323 * np.where(v > 0, v, 1.6732631921768188 * (np.exp(v) - 1)),
        ),
        (
            node("Celu", "x", "a3", alpha=0.5),
            lambda v: np.maximum(v, 0) + np.minimum(0, 0.5 * (np.exp(v / 0.5) - 1)),
        ),
        (node("Softsign", "x", "a4"), lambda v: v / (1 + np.abs(v))),
        (node("ThresholdedRelu", "x", "a5", alpha=0.0), lambda v: np.maximum(v, 0)),
        (node("LeakyRelu", "x", "a6", alpha=0.25), lambda v: np.where(v > 0, v, 0.25 * v)),
        (node("Elu", "x", "a7", alpha=1.5), lambda v: np.where(v > 0, v, 1.5 * (np.exp(v) - 1))),
        (node("Reciprocal", "x", "a8"), lambda v: 1 / v),
        (node("Neg", "x", "a9"), lambda v: -v),
        (node("HardSwish", "x", "a10"), lambda v: v * np.clip(v / 6 + 0.5, 0, 1)),
        (node("Sub", "seven x", "a11"), lambda v: 7 - v),
        (node("Add", "x minus", "a12"), lambda v: v - 0.375),
        (node("Mul", "x grid", "a13"), lambda v: v * np.array([[1, 2, 1, 2]])),
        (node("Mean", "x row seven", "a14"), lambda v: (v + np.array([1, 2, 3, 4]) + 7) / 3),
    ]
    names = " ".join(f"a{i}" for i in range(len(table)))
    nodes = [made for made, _ in table] + [node("Concat", names, "y", axis=-1)]
    initial = [
        tensor("slope", slope),
        tensor("seven", np.float32([7])),
        tensor("minus", np.float32(-0.375)),
        tensor("grid", np.float32([[1, 2, 1, 2]])),
        tensor("row", np.float32([1, 2, 3, 4])),
    ]
    made = model(nodes, [port("x", ["n", 4])], [port("y", ["n", 60])], initial, opset=16)
    X = x.astype(np.float64)
    accept(
        "activations",
        made,
        {"x": x},
        {"y": np.concatenate([f(X) for _, f in table], -1)},
        words=["clamp(0.2 * x + 0.5, 0, 1)", "x - 0.375"],
    )


def near_misses():
    """What looks like functions of the language, with other numbers or arguments."""
    x = array(5, 6)
    names = (
        ("k", math.sqrt(2 / math.pi)),
        ("c", 0.05),
        ("q", 1.702),
        ("four", 4),
        ("six", 6),
        ("three", 3),
        ("half", 0.5),
    )
    nodes = [
        node("Pow", "x three", "x3"),
        node("Mul", "c x3", "cx"),
        node("Add", "x cx", "s"),
        node("Mul", "k s", "ks"),
        node("Tanh", "ks", "t"),
        node("Add", "t one", "t1"),
        node("Mul", "half x", "hx"),
        node("Mul", "hx t1", "a0"),  # gelu_tanh but for 0.05
        node("Mul", "q x", "qx"),
        node("Sigmoid", "qx", "sq"),
        node("Mul", "x sq", "a1"),  # silu but for 1.702
        node("Add", "x four", "x4"),
        node("Clip", "x4 zero six", "r"),
        node("Mul", "x r", "xr"),
        node("Div", "xr six", "a2"),  # hardswish but for 4
        node("ReduceMean", "x", "m", axes=[1]),
        node("Sub", "x m", "d"),
        node("Mul", "x x", "xx"),
        node("ReduceMean", "xx", "v", axes=[1]),
        node("Add", "v half", "ve"),
        node("Sqrt", "ve", "sd"),
        node("Div", "d sd", "a3"),  # layernorm but for the mean of x * x
        node("Softplus", "x", "sp"),
        node("Tanh", "sp", "tsp"),
        node("Mul", "x4 tsp", "a4"),  # mish but for x + 4
        node("Sigmoid", "x", "sx"),
        node("Mul", "x4 sx", "a5"),  # silu but for x + 4
        node("Add", "t half", "t5"),
        node("Mul", "x t5", "a6"),  # gelu_tanh but for 0.5 + tanh
        node("Sub", "x half", "e"),
        node("Mul", "e e", "ee"),
        node("ReduceMean", "ee", "w", axes=[1]),
        node("Sqrt", "w", "rms"),
        node("Div", "e rms", "a7"),  # layernorm but for 0.5 in place of the mean
        node("Concat", "a0 a1 a2 a3 a4 a5 a6 a7", "y", axis=1),
    ]
    initial = [tensor(name, np.float32(value)) for name, value in names]
    initial += [tensor("one", np.float32(1)), tensor("zero", np.float32(0))]
    made = model(nodes, [port("x", ["n", 6])], [port("y", ["n", 48])], initial, opset=13)
    X = x.astype(np.float64)
    t = np.tanh(math.sqrt(2 / math.pi) * (X + 0.05 * X**3))
    d = X - X.mean(1, keepdims=True)
    parts = [
        X / 2 * (1 + t),
        X * sigmoid(1.702 * X),
        X * np.clip(X + 4, 0, 6) / 6,
        d / np.sqrt((X * X).mean(1, keepdims=True) + 0.5),
        (X + 4) * np.tanh(np.log1p(np.exp(X))),
        (X + 4) * sigmoid(X),
        X * (t + 0.5),
        (X - 0.5) / np.sqrt(((X - 0.5) ** 2).mean(1, keepdims=True)),
    ]
    accept("near_misses", made, {"x": x}, {"y": np.concatenate(parts, 1)})


def chosen_softplus():
    """PyTorch's softplus as its exporter writes it."""
    x = array(5, 4, scale=12)
    nodes = [node("Softplus", "x", "s"), node("Greater", "x c", "g"), node("Where", "g x s", "y")]
    made = model(nodes, [port("x", ["n", 4])], [port("y", ["n", 4])], [tensor("c", np.float32(20))])
    X = x.astype(np.float64)
    accept(
        "chosen_softplus", made, {"x": x}, {"y": np.where(X > 20, X, np.log1p(np.exp(X)))}, words=["= softplus(x)"]
    )


def coerced():
    """Before version 13 a softmax is over all dimensions from its axis on."""
    x = array(3, 2, 4)
    made = model([node("Softmax", "x", "y", axis=1)], [port("x", ["n", 2, 4])], [port("y", ["n", 2, 4])], opset=12)
    accept("coerced", made, {"x": x}, {"y": softmax(x.astype(np.float64).reshape(3, 8))}, words=["x: f32[8]"])


def half():
    """f16 in 32-bit integers, between casts."""
    x, w, b = array(5, 8), array(8, 6, dtype="f2"), array(6, dtype="f2")
    weight = TensorProto(name="w", data_type=F16, dims=w.shape, int32_data=w.ravel().view(np.uint16).tolist())
    nodes = [
        node("Cast", "x", "xh", to=F16),
        node("MatMul", "xh w", "mm"),
        node("Add", "mm b", "h"),
        node("Relu", "h", "r"),
        node("Cast", "r", "y", to=F32),
    ]
    made = model(nodes, [port("x", ["n", 8])], [port("y", ["n", 6])], [weight, tensor("b", b)])
    X, W, B = f64(x.astype("f2"), w, b)
    accept(
        "half",
        made,
        {"x": x},
        {"y": np.maximum(X @ W + B, 0)},
        options="--tolerance=4e-3",
        words=["dtype   f16;", "output y: f32"],
    )


def brain():
    """bf16 throughout."""
    w = array(8, 6)
    bits = (w.view(np.uint32) + 0x8000 >> 16).astype(np.uint16)
    W = (bits.astype(np.uint32) << 16).view("f4").astype(np.float64)
    weight = TensorProto(name="w", data_type=BF16, dims=w.shape, raw_data=bits.tobytes())
    made = model([node("MatMul", "x w", "y")], [port("x", ["n", 8], BF16)], [port("y", ["n", 6], BF16)], [weight])
    x = (random.randint(-8, 8, (5, 8)) / 8).astype("f4")
    accept(
        "brain",
        made,
        {"x": x},
        {"y": x.astype(np.float64) @ W},
        options="--tolerance=3e-2",
        words=["dtype   bf16;", "input x: bf16[8]"],
    )


def external():
    """Weights in a file beside the model."""
    x, w, b = array(3, 6), array(4, 6), array(4)
    weight = TensorProto(name="fc.weight", data_type=F32, dims=w.shape, data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "weights.bin"), ("offset", "64"), ("length", str(w.nbytes))):
        weight.external_data.add(key=key, value=value)
    made = model(
        [node("Gemm", "x fc.weight fc.bias", "y", transB=1)],
        [port("x", [3, 6])],
        [port("y", [3, 4])],
        [weight, tensor("fc.bias", b)],
    )
    X, W, B = f64(x, w, b)
    accept("external", made, {"x": x}, {"y": X @ W.T + B}, words=['linear(x, 4, "fc")', "batch   3;"])
    with open(os.path.join(FOLDER, "external", "weights.bin"), "wb") as file:
        file.write(bytes(64) + w.tobytes() + bytes(8))


def vector():
    """A single sample: a matrix times a vector, and dimensions put in front."""
    x, w, b, v = array(5), array(4, 5), array(4), array(4, 2)
    nodes = [
        node("MatMul", "w x", "wx"),
        node("Add", "wx b", "h"),
        node("Unsqueeze", "h zero", "row"),
        node("MatMul", "row v", "y"),
    ]
    made = model(
        nodes,
        [port("x", [5])],
        [port("y", [1, 2])],
        [tensor("w", w), tensor("b", b), tensor("v", v), ints("zero", 0)],
    )
    X, W, B, V = f64(x, w, b, v)
    accept("vector", made, {"x": x}, {"y": (W @ X + B)[None] @ V})


def tied():
    """One matrix in both directions; a constant that has to be computed first."""
    x, w, b = array(3, 6), array(6, 4), array(6)
    nodes = [
        node("MatMul", "x w", "mm"),
        node("Tanh", "mm", "h"),
        node("Mul", "b two", "b2"),
        node("Gemm", "h w b2", "g", transB=1),
        node("Transpose", "w", "wt", perm=[1, 0]),
        node("MatMul", "h wt", "m"),
        node("Sub", "g m", "y"),
    ]
    made = model(
        nodes,
        [port("x", ["n", 6])],
        [port("y", ["n", 6])],
        [tensor("w", w), tensor("b", b), tensor("two", np.float32(2))],
    )
    X, W, B = f64(x, w, b)
    h = np.tanh(X @ W)
    accept("tied", made, {"x": x}, {"y": 2 * B + 0 * h @ W.T})


def layers():
    """Equal layers, which are rolled up, with a weight that they share and a first value that all of them read; names
    that are no identifiers, or words of the language."""
    x, stem, scale = array(4, 8), array(8, 8), array(8)
    nodes, value = [node("Gemm", "input stem.0.weight", "first", transB=1)], "first"
    initial = [tensor("stem.0.weight", stem), tensor("shared.1.scale", scale)]
    X, STEM, SCALE = f64(x, stem, scale)
    first = h = X @ STEM.T
    for i in range(1, 6):
        w1, b1, w2, b2 = array(16, 8), array(16), array(8, 16), array(8)
        base = f"blocks.{i}"
        for name, values in (("up.weight", w1), ("up.bias", b1), ("down.weight", w2), ("down.bias", b2)):
            initial.append(tensor(f"{base}.{name}", values))
        nodes += [
            node("Gemm", f"{value} {base}.up.weight {base}.up.bias", f"{base}/up:0", transB=1),
            node("Relu", f"{base}/up:0", f"{base}/relu:0"),
            node("Gemm", f"{base}/relu:0 {base}.down.weight {base}.down.bias", f"{base}/down:0", transB=1),
            node("Mul", f"{base}/down:0 shared.1.scale", f"{base}/scaled:0"),
            node("Add", f"{value} {base}/scaled:0", f"{base}/sum:0"),
            node("Add", f"{base}/sum:0 first", f"{base}/out:0"),
        ]
        value = f"{base}/out:0"
        W1, B1, W2, B2 = f64(w1, b1, w2, b2)
        h = h + np.maximum(h @ W1.T + B1, 0) @ W2.T * SCALE + B2 * SCALE + first
    nodes.append(node("Neg", value, "output"))
    made = model(nodes, [port("input", ["n", 8])], [port("output", ["n", 8])], initial)
    accept(
        "layers",
        made,
        {"input": x},
        {"output": -h},
        words=["repeat i in 1..6 {", '"blocks.{i}.up"', '"shared.1.scale"'],
    )


def folded():
    """Constants that operators compute from constants: each gives six numbers, which are added up."""
    w, m, t = array(4, 6), array(1, 4), array(2, 6)
    floats, near = array(6), np.abs(array(6)) + 0.5
    nodes, terms = [], []

    def constant(name, **value):
        nodes.append(node("Constant", "", name, **value))

    def term(op, inputs, value, **attributes):
        terms.append((f"t{len(terms)}", np.asarray(value, np.float64)))
        nodes.append(node(op, inputs, terms[-1][0], **attributes))

    def step(op, inputs, outputs, **attributes):
        nodes.append(node(op, inputs, outputs, **attributes))

    constant("a", value_floats=[float(v) for v in floats])
    constant("near", value=tensor("", near))
    constant("half", value_float=1.5)
    constant("flat", value_ints=[-1])
    constant("pairs", value_ints=[0, -1])
    constant("third", value_int=2)
    constant("odd", value_ints=[7, -7, 9, 3, 5, 1])
    constant("two", value_ints=[2])
    constant("block", value=tensor("", t[:, :3]))
    step("Shape", "a", "sizes")
    step("Reshape", "block pairs", "same")
    step("Reshape", "same flat", "row")
    step("ConstantOfShape", "sizes", "filled", value=tensor("", np.array([0.25], "f4")))
    step("Expand", "half sizes", "wide")
    step("Slice", "w from_end to_end rows", "late")
    step("Slice", "late zero one", "first")
    step("Split", "t", "upper lower", axis=0)
    step("MatMul", "m w", "product")
    step("Cast", "near", "cut", to=I64)
    step("Cast", "cut", "back", to=F32)
    step("Div", "odd two", "halves")
    step("Cast", "halves", "whole", to=F32)
    step("Cast", "a", "sixteen", to=F16)
    step("Neg", "sixteen", "turned")
    step("Cast", "turned", "rounded", to=F32)
    step("Transpose", "block", "standing")
    step("Concat", "upper lower", "joined", axis=0)
    step("Slice", "joined one two", "second")
    a, n = f64(floats, near)
    term("Add", "a row", a + t[:, :3].reshape(6))
    term("Sub", "filled wide", np.full(6, 0.25 - 1.5))
    term("Squeeze", "first zero", w[1])
    term("Squeeze", "upper", t[0])
    term("Squeeze", "second", t[1])
    term("Reshape", "product flat", np.float64(m) @ np.float64(w))
    term("Gather", "w third", w[2], axis=0)
    term("Reshape", "standing flat", t[:, :3].T.reshape(6))
    term("Identity", "back", np.trunc(n))
    term("Identity", "whole", [3, -3, 4, 1, 2, 0])
    term("Identity", "rounded", -floats.astype("f2").astype("f8"))
    for op, function in (
        ("Abs", np.abs), ("Erf", erf), ("Exp", np.exp), ("Tanh", np.tanh), ("Sigmoid", sigmoid),
        ("Relu", lambda v: np.maximum(v, 0)),
    ):
        term(op, "a", function(a))
    for op, function in (("Log", np.log), ("Sqrt", np.sqrt), ("Reciprocal", lambda v: 1 / v)):
        term(op, "near", function(n))
    term("Mul", "a near", a * n)
    term("Div", "a near", a / n)
    term("Pow", "near a", n**a)
    term("Max", "a near half", np.maximum(np.maximum(a, n), 1.5))
    term("Min", "a near", np.minimum(a, n))
    step("Sum", " ".join(name for name, _ in terms), "all")
    step("Add", "x all", "y")
    x = array(5, 6)
    total = sum(np.reshape(value, 6) for _, value in terms)
    initial = [tensor("w", w), tensor("m", m), tensor("t", t), ints("from_end", -3), ints("to_end", 1 << 62)]
    initial += [ints("rows", 0), ints("zero", 0), ints("one", 1)]
    made = model(nodes, [port("x", ["n", 6])], [port("y", ["n", 6])], initial)
    accept("folded", made, {"x": x}, {"y": x + total}, words=["y = x + param("])


# ---- refused ----


def all_refused():
    w, b, x, y = tensor("w", array(6, 4)), tensor("b", array(4)), port("x", ["n", 6]), port("y", ["n", 4])
    x3 = port("x", ["n", 2, 3])

    def one(op, inputs, initializers=(), given=x, opset=17, **attributes):
        return model([node(op, inputs, "y", **attributes)], [given], [port("y", None)], list(initializers), opset)

    refuse("frozen_batch", one("Reshape", "x s", [ints("s", 1, 6)]), "Reshape", "does not keep rows of 6 columns")
    refuse("folded_batch", one("Reshape", "x s", [ints("s", -1, 3)]), "does not keep rows of 6 columns")
    refuse("value_for_each_row", one("Add", "x c", [tensor("c", array(5, 1))]), "other values for each row")
    refuse(
        "row_alignment",
        model(
            [node("ReduceSum", "x last", "s", keepdims=0), node("Mul", "x s", "y")],
            [port("x", [6, 6])],
            [y],
            [ints("last", 1)],
        ),
        "rows of its operands are in different",
    )
    refuse("front_dimension", one("Add", "x c", [tensor("c", array(2, 1, 6))]), "in front of the rows")
    refuse(
        "turned_batch",
        model(
            [node("Transpose", "x", "t", perm=[1, 0]), node("MatMul", "v t", "y")],
            [port("x", [6, 6])],
            [y],
            [tensor("v", array(3, 6))],
        ),
        "moves the rows",
    )
    refuse("rows_summed", one("MatMul", "v x", [tensor("v", array(3, 6))], given=port("x", [6, 6])), "sums over")
    refuse("mean_of_batch", one("ReduceMean", "x", axes=[0]), "axis 0, which is one of the rows")
    refuse("mean_of_all", one("ReduceMean", "x"), "axis 0, which is one of the rows")
    refuse("softmax_of_batch", one("Softmax", "x", axis=0), "axis 0 is not that of whole rows")
    refuse("softmax_part", one("Softmax", "x", given=port("x", ["n", 2, 3, 4]), axis=2), "not that of whole rows")
    refuse("rows_picked", one("Gather", "x l", [ints("l", 0)], axis=0), "picks some of the rows")
    refuse("rows_cut", one("Slice", "x a e", [ints("a", 0), ints("e", 2)]), "takes some of the rows")
    refuse("rows_behind_rows", one("Concat", "x x", axis=0), "puts rows behind rows")
    refuse(
        "rows_split",
        model([node("Split", "x", "y z", axis=0)], [port("x", [4, 6])], [y, port("z", None)], opset=11),
        "splits the rows",
    )
    refuse(
        "embedding",
        model([node("Gather", "w i", "y")], [port("i", ["n"], I64)], [y], [w]),
        "the input 'i' is of int64",
    )
    refuse(
        "double",
        one("MatMul", "x d", [tensor("d", array(6, 4, dtype="f8"))], given=port("x", ["n", 6], F64)),
        "the input 'x' is of float64",
    )
    refuse(
        "double_weight",
        one("MatMul", "x d", [tensor("d", array(6, 4, dtype="f8"))]),
        "it combines f32 with float64",
    )
    refuse("integers", one("Add", "x c", [ints("c", 1)]), "it combines f32 with int64")
    refuse("to_integer", one("Cast", "x", to=I64), "turns values into int64")
    refuse("to_no_type", one("Cast", "x", to=(1 << 32) + F32), "turns values into an unusual type")
    refuse(
        "rounds_between",
        model(
            [node("Cast", "x", "h", to=F16), node("Cast", "h", "g", to=F32), node("MatMul", "g w", "y")],
            [x],
            [y],
            [w],
        ),
        "it computes in f16, in a network of f32",
    )
    refuse(
        "two_factors",
        model([node("MatMul", "x z", "y")], [port("x", [4, 6]), port("z", [6, 4])], [y]),
        "the input 'z' of shape [6, 4] has another number of rows",
    )
    refuse(
        "attention",
        model([node("Transpose", "x", "t", perm=[0, 2, 1]), node("MatMul", "x t", "y")], [x3], [port("y", None)]),
        "neither of its factors is a constant",
    )
    refuse(
        "some_unknown",
        model(
            [
                node("Relu", "x", "r"),
                node("Conv", "r w", "c"),
                node("MaxPool", "c", "p", kernel_shape=[2]),
                node("Sin", "x", "s"),
                node("Add", "p s", "y"),
            ],
            [x],
            [y],
            [w],
        ),
        "Conv (node 1, which gives 'c')",
        "Sin (node 3",
    )
    refuse(
        "foreign",
        model([helper.make_node("Relu", ["x"], ["y"], domain="my.own", name="mine")], [x], [y], domains=["my.own"]),
        "Relu 'mine': mlpc has no such operator of the domain 'my.own'",
    )
    refuse("erf_alone", one("Erf", "x"), "erf only inside of gelu")
    refuse("too_many_outputs", model([node("Relu", "x", "r s"), node("Sum", "s", "y")], [x], [y]), "output 's' is used")
    twice = [node("Identity", "b", "c d"), node("Max", "d d", "e"), node("Add", "x e", "y")]
    refuse("too_many_constants", model(twice, [port("x", ["n", 4])], [y], [b]), "output 'd' is used")
    above = [tensor("c", np.float32(1))]
    choice = [node("Tanh", "x", "t"), node("Greater", "x c", "g"), node("Where", "g x t", "y")]
    refuse("chosen", model(choice, [x], [y], above), "Greater", "Where", "no choice between values")
    compared = [node("Greater", "x c", "g"), node("Cast", "g", "f", to=F32), node("Mul", "x f", "y")]
    refuse("compared", model(compared, [x], [y], above), "Greater", "no choice between values")
    refuse(
        "other_erf",
        model(
            [
                node("Div", "x c", "e"),
                node("Erf", "e", "f"),
                node("Add", "f one", "g"),
                node("Mul", "x g", "h"),
                node("Mul", "h half", "y"),
            ],
            [x],
            [y],
            [tensor("c", np.float32(1.5)), tensor("one", np.float32(1)), tensor("half", np.float32(0.5))],
        ),
        "erf only inside of gelu",
    )
    refuse("odd_power", one("Pow", "x p", [tensor("p", np.float32(1.5))]), "no power of 1.5")
    refuse("threshold", one("ThresholdedRelu", "x", opset=10), "no such function with its alpha")
    refuse("unknown_width", one("Relu", "x", given=port("x", ["n", "m"])), "no fixed number of columns")
    refuse("no_shape", one("Relu", "x", given=value_info("x", F32, None)), "no shape with rows")
    refuse(
        "constant_output",
        model([node("Relu", "x", "y")], [x], [y, port("b", [4])], [b]),
        "'b' does not depend on an input",
    )
    refuse(
        "batch_in_a_value",
        model(
            [
                node("Shape", "x", "s"),
                node("Gather", "s i", "n"),
                node("Cast", "n", "f", to=F32),
                node("Div", "x f", "y"),
            ],
            [x],
            [y],
            [ints("i", 0)],
        ),
        "computes with the number of rows",
    )
    refuse(
        "training",
        model(
            [node("Dropout", "x r t", "y")], [x], [y], [tensor("r", np.float32(0.5)), tensor("t", np.bool_(True))]
        ),
        "training mode",
    )
    refuse(
        "mask_used",
        model(
            [node("Dropout", "x", "d m"), node("Cast", "m", "f", to=F32), node("Add", "d f", "y")],
            [x],
            [y],
            opset=11,
        ),
        "its output 'm' is used",
    )
    refuse("unknown_attribute", one("Gemm", "x w b", [w, b], gamma=1.0), "its attribute 'gamma' is unknown")
    refuse("mistyped_attribute", one("Gemm", "x w b", [w, b], alpha=2), "'alpha' has another type")
    refuse("too_old", one("Relu", "x", opset=6), "version 6 of ONNX's operators")
    refuse("too_new", one("Relu", "x", opset=99), "version 99 of ONNX's operators")
    refuse(
        "cycle",
        model([node("Add", "x b", "a"), node("Relu", "a", "b"), node("Relu", "b", "y")], [x], [y]),
        "has a cycle",
    )
    refuse(
        "twice", model([node("Relu", "x", "y"), node("Tanh", "x", "y")], [x], [y]), "has its value from elsewhere"
    )
    refuse("dangling", model([node("Add", "x z", "y")], [x], [y]), "nothing gives its input 'z'")
    refuse(
        "wrong_size",
        one("MatMul", "x w", [TensorProto(name="w", data_type=F32, dims=(6, 4), raw_data=bytes(92))]),
        "tensor 'w' holds another number of bytes",
    )
    refuse(
        "huge",
        one("MatMul", "x w", [TensorProto(name="w", data_type=F32, dims=(1 << 40, 1 << 40), raw_data=b"")]),
        "more elements than can be counted",
    )
    refuse(
        "huge_beside_zero",
        one("Flatten", "w", [TensorProto(name="w", data_type=F32, dims=(0, 1 << 40, 1 << 40), raw_data=b"")]),
        "more elements than can be counted",
    )
    six = tensor("w", np.ones((4, 6), "f4"))

    def folds(name, op, inputs, reason, *initial, **attributes):
        nodes = [node(op, inputs, "c", **attributes), node("Add", "x c", "y")]
        refuse(name, model(nodes, [port("x", ["n", 6])], [port("y", ["n", 6])], [six, *initial]), reason)

    numbers = [ints("a", 0), ints("b", 4), ints("two", 2), ints("nine", 9), ints("more", 1, 2)]
    folds("folded_steps", "Slice", "w a b a two", "a constant is cut with steps", *numbers)
    folds("folded_ends", "Slice", "w a more", "are not equally many", *numbers)
    folds("folded_pick", "Gather", "w nine", "picks an element that is not there", *numbers)
    folds("folded_index", "Gather", "w w", "its indices are no whole numbers")
    folds("folded_split", "Split", "w more", "it has not as many outputs as parts", *numbers, axis=0)
    folds("folded_parts", "Split", "w nine", "its parts are more than the whole", *numbers, axis=0)
    folds("folded_perm", "Transpose", "w", "its perm is no order of the dimensions", perm=[0, 0])
    folds("folded_shape", "Reshape", "w more", "has not as many elements as", *numbers)
    folds("folded_axis", "Flatten", "w", "it has no such axis", axis=3)
    folds("folded_axes", "Unsqueeze", "w twice", "its axes are none of its result", ints("twice", 1, 1))
    folds("folded_joined", "Concat", "w v", "its parts do not fit to each other", tensor("v", np.ones(6, "f4")), axis=0)
    folds("folded_matmul", "MatMul", "w w", "no matrices that fit")
    folds("folded_sum", "Add", "w v", "do not fit to each other", tensor("v", np.ones(5, "f4")))
    refuse(
        "negative_size",
        one("MatMul", "x w", [TensorProto(name="w", data_type=F32, dims=(-6, 4), raw_data=b"")]),
        "has a negative size",
    )
    refuse(
        "expanded",
        model(
            [node("ConstantOfShape", "s", "c"), node("Add", "x c", "y")], [x], [y], [ints("s", 1 << 20, 1 << 12)]
        ),
        "larger than the model's size accounts for",
    )
    refuse(
        "scattered",
        one("Transpose", "x", given=port("x", ["n", 1 << 12, 1 << 12]), perm=[0, 2, 1]),
        "too many pieces",
    )
    refuse("not_fitting", one("MatMul", "x w", [w], given=port("x", ["n", 5])), "does not fit to 5 columns")
    refuse(
        "bias_along_rows",
        one("Gemm", "x w c", [w, tensor("c", array(3, 4))], given=port("x", [3, 6])),
        "other values for each row",
    )
    refuse(
        "batch_second", one("Gemm", "x w", [w], given=port("x", [6, "n"]), transA=1), "no fixed number of columns"
    )
    for name, location, reason in (
        ("absolute", "/etc/hostname", "outside of the model's folder"),
        ("climbing", "a/../../secret.bin", "outside of the model's folder"),
        ("missing", "nowhere.bin", "not a file in the model's folder"),
        ("link", "link.bin", "not a file in the model's folder"),
    ):
        weight = TensorProto(name="w", data_type=F32, dims=(6, 4), data_location=TensorProto.EXTERNAL)
        weight.external_data.add(key="location", value=location)
        refuse(f"external_{name}", one("MatMul", "x w", [weight]), reason)
    branch = helper.make_graph([node("Relu", "x", "z")], "then", [], [port("z", None)])
    refuse(
        "subgraph",
        model(
            [helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)],
            [x, port("c", [], TensorProto.BOOL)],
            [y],
        ),
        "the input 'c' is of bool",
    )
    function = helper.make_function(
        "my.own", "Twice", ["a"], ["c"], [node("Add", "a a", "c")], [helper.make_opsetid("", 17)]
    )
    refuse(
        "function",
        model(
            [helper.make_node("Twice", ["x"], ["y"], domain="my.own")],
            [x],
            [y],
            domains=["my.own"],
            functions=[function],
        ),
        "it is a function of the model",
    )
    deep = helper.make_graph([node("Relu", "x", "z")], "deep", [x], [port("z", None)])
    for _ in range(20):
        deep = helper.make_graph(
            [helper.make_node("If", ["x"], ["z"], then_branch=deep)], "deep", [x], [port("z", None)]
        )
    refuse("nested", helper.make_model(deep), "its protobuf cannot be read")


# Of their own numbers, so that the cases above keep theirs.


def forms():
    """What the other cases leave: each column a different form of an operator."""
    own = np.random.RandomState(11)

    def mine(*shape):
        return own.randn(*shape).astype("f4")

    x, k, big = mine(7, 4), mine(4), np.array([3e38], "f4")
    nodes, terms, initial = [], [], []

    def given(name, values, kind=None, **fields):
        if kind:
            values = TensorProto(name=name, data_type=kind, dims=np.shape(values), **fields)
        else:
            values = tensor(name, values)
        initial.append(values)

    def step(op, inputs, outputs, **attributes):
        nodes.append(node(op, inputs, outputs, **attributes))

    def term(op, inputs, value, **attributes):
        terms.append((f"t{len(terms)}", np.asarray(value, np.float64)))
        nodes.append(node(op, inputs, terms[-1][0], **attributes))

    for name, values in (
        ("k", k), ("low", np.float32(0)), ("under", np.float32(-0.5)), ("high", np.float32(0.75)),
        ("three", np.float32(3)), ("six", np.float32(6)), ("minus2", np.float32(-2)), ("half", np.float32(0.5)),
        ("slope", np.array([0.3], "f4")), ("big", big), ("none", np.array([], np.int64)), ("last", np.array([-1])),
        ("two_two", np.array([0, 2, 2])), ("two_one", np.array([0, 2, 1])), ("four", np.array([0, 4])),
        ("first", np.array([0])), ("second", np.array([2])), ("scale", mine(4)), ("shift", mine(4)),
        ("centre", mine(4)), ("spread", np.abs(mine(4)) + np.float32(0.5)), ("gain", mine(4)),
        ("parts", np.array([2, 2])),
        ("third", np.array([1])),
    ):
        given(name, values)
    values = {t.name: numpy_helper.to_array(t).astype(np.float64) for t in initial}
    # Every list that a tensor may hold its elements in.
    given("floats", [0] * 4, F32, float_data=[0.5, -1.5, 2, 3])
    given("doubles", [0] * 4, F64, double_data=[0.25, 1.25, -2, 3])
    given("longs", [0] * 4, I64, int64_data=[7, -8, 9, 1])
    given("naturals", [0] * 4, TensorProto.UINT64, uint64_data=[7, 8, 9, 1])
    given("words", [0] * 4, TensorProto.UINT32, uint64_data=[7, 6, 5, 4])
    given("bytes", np.array([-1, 2, -3, 127], np.int8))
    given("shorts", np.array([-1, 2, -300, 32767], np.int16))
    given("ints", np.array([-1, 2, -300000, 1], np.int32))
    given("flags", np.array([True, False, True, True]))
    given("gain16", np.array([0.5, 1, -2, 4], "f2"))
    given("brain", [0] * 4, BF16, int32_data=[0x3F80, 0x4000, 0xC040, 0x3F00])      # 1, 2, -3, 0.5

    X = x.astype(np.float64)
    low, high = -0.5, 0.75
    term("Clip", "x low", np.maximum(X, 0))
    term("Clip", "x under", np.maximum(X, low))
    nodes.append(helper.make_node("Clip", ["x", "", "high"], ["topped"]))
    term("Identity", "topped", np.minimum(X, high))
    term("Clip", "x", X)
    step("Abs", "x", "size")
    step("Add", "size half", "positive")
    P = np.abs(X) + 0.5
    term("Pow", "positive minus2", P**-2)
    term("Pow", "positive half", np.sqrt(P))
    term("PRelu", "x slope", np.where(X > 0, X, values["slope"] * X))
    term("HardSigmoid", "x", np.clip(X / 6 + 0.5, 0, 1), alpha=1 / 6)
    term("Celu", "x", np.maximum(X, 0) + np.minimum(0, np.exp(X) - 1))
    term("QuickGelu", "x", X * sigmoid(1.702 * X), domain="com.microsoft")
    K = k.astype(np.float64)
    term("BiasGelu", "x k", gelu(X + K), domain="com.microsoft")
    offset, by = [0.5, 1, -1, 2], [2, 0.5, 1, -1]
    term("Scaler", "x", (X - offset) * by, domain="ai.onnx.ml", offset=map(float, offset), scale=map(float, by))
    S, T, C, V, G = (values[n] for n in ("scale", "shift", "centre", "spread", "gain"))
    skip = [helper.make_node("SkipLayerNormalization", ["x", "size", "gain", "shift", "k"], ["sk", "", "", "summed"],
                             domain="com.microsoft", epsilon=1e-3),
            helper.make_node("SkipSimplifiedLayerNormalization", ["x", "size", "gain"], ["simple"],
                             domain="com.microsoft")]
    nodes.extend(skip)
    both = X + np.abs(X)
    term("Identity", "sk", layernorm(both + K, G, T, np.float64(np.float32(1e-3))))
    term("Identity", "summed", both + K)
    eps = np.float64(np.float32(1e-12))
    term("Identity", "simple", both / np.sqrt((both * both).mean(-1, keepdims=True) + eps) * G)
    term("ReduceL1", "x last", np.abs(X).sum(1, keepdims=True))
    term("ReduceSum", "x none", X, noop_with_empty_axes=1)
    term("ReduceSumSquare", "x last", (X * X).sum(1, keepdims=True))
    term("Max", "k x", np.maximum(X, K))
    step("Add", "x three", "lifted")
    step("Clip", "lifted low six", "six_at_most")
    step("Mul", "x six_at_most", "gated")
    term("Div", "gated six", X * np.clip(X + 3, 0, 6) / 6)
    step("HardSigmoid", "x", "hard", alpha=1 / 6)
    term("Mul", "hard x", X * np.clip(X / 6 + 0.5, 0, 1))
    step("Mul", "x positive", "pairs")
    term("ReduceSum", "pairs last", (X * P).sum(1, keepdims=True))
    step("BatchNormalization", "x scale shift centre spread", "normed")
    term("Identity", "normed", (X - C) / np.sqrt(V + np.float64(np.float32(1e-5))) * S + T)
    step("Reshape", "x two_two", "square")
    step("Slice", "square first third second", "column")
    step("Add", "square column", "stretched")
    term("Reshape", "stretched four", (X.reshape(7, 2, 2) + X.reshape(7, 2, 2)[:, :, :1]).reshape(7, 4))
    step("Split", "x parts", "left right", axis=1)
    step("Transpose", "square", "kept", perm=[0, 1, 2])
    term("Flatten", "kept", X, axis=-2)
    term("Sum", "left right", X[:, :2] + X[:, 2:])
    # Constants of every type, whose casts are computed; none becomes large beside the others.
    for name, numbers, scale in (
        ("doubles", [0.25, 1.25, -2, 3], 0), ("longs", [7, -8, 9, 1], -2), ("naturals", [7, 8, 9, 1], -2),
        ("words", [7, 6, 5, 4], -2), ("bytes", [-1, 2, -3, 127], -6), ("shorts", [-1, 2, -300, 32767], -14),
        ("ints", [-1, 2, -300000, 1], -18), ("flags", [1, 0, 1, 1], 0), ("brain", [1, 2, -3, 0.5], 0),
        ("gain16", [0.5, 1, -2, 4], 0),
    ):
        given(f"{name}_scale", np.float32(2.0**scale))
        step("Cast", name, f"{name}_f", to=F32)
        step("Mul", f"{name}_f {name}_scale", f"{name}_s")
        term("Mul", f"x {name}_s", X * np.array(numbers) * 2.0**scale)
    term("Mul", "x floats", X * np.array([0.5, -1.5, 2, 3]))
    step("Cast", "longs", "truth", to=TensorProto.BOOL)
    step("Cast", "truth", "ones", to=F32)
    step("Cast", "floats", "floats_f", to=F32)
    step("Add", "brain brain", "twice")
    step("Cast", "twice", "twice_f", to=F32)
    step("Mul", "ones floats_f", "product")
    step("Add", "product twice_f", "whole")
    term("Add", "x whole", X + np.array([0.5 + 2, -1.5 + 4, 2 - 6, 3 + 1]))
    nodes.append(helper.make_node("LayerNormalization", ["x", "gain16"], ["ln16"]))
    term("Identity", "ln16", layernorm(X, np.array([0.5, 1, -2, 4]), 0))
    step("Concat", " ".join(name for name, _ in terms), "y", axis=1)
    y = np.concatenate([np.broadcast_to(value, (7, value.shape[1])) for _, value in terms], 1)
    made = model(nodes, [port("x", ["n", 4])], [port("y", ["n", y.shape[1]])], initial, domains=["com.microsoft",
                                                                                          "ai.onnx.ml"])
    accept(
        "forms",
        made,
        {"x": x},
        {"y": y},
        options="--tolerance=1e-6",
        words=["hardswish(x)", "hardsigmoid(x)", "relu(x)", "leaky_relu(x, 0.3", "dot(", "sqrt("],
    )


def all_at_once():
    """Every operator that is refused is told of: a model of nothing else, and one with wrong tensors and names."""
    own = np.random.RandomState(12)
    nodes, reasons, outputs = [], [], []
    initial = [
        tensor("w", own.randn(6, 4).astype("f4")), tensor("w3", np.ones((2, 6, 4), "f4")),
        tensor("c5", np.ones(5, "f4")),
        tensor("c6", np.ones(6, "f4")), tensor("pair", np.ones(2, "f4")), tensor("nan", np.float32(np.nan)),
        tensor("huge", np.float32(1e30)), ints("i0", 0), ints("i1", 1), ints("i2", 2), ints("i5", 5), ints("i7", 7),
        ints("i9", 9), ints("i6", 6), ints("i11", 1, 1), ints("i12", 1, 2), ints("i33", 3, 3), ints("i222", 2, 2, 2),
        ints("copied", 0, 6, 0), ints("split", 0, 2, 3), ints("nine", *[1] * 9), ints("less", -2, 6),
        ints("seven_more", *range(1, 8)), tensor("f64", np.ones(6)),
    ]

    def bad(reason, op, inputs, outputs_of=None, **attributes):
        names = [name if name != "-" else "" for name in inputs.split()]
        out = outputs_of or [f"y{len(outputs)}"]
        nodes.append(helper.make_node(op, names, out, **attributes))
        reasons.append(reason)
        outputs.append(next((o for o in out if o), None))
        return nodes[-1]

    microsoft = {"domain": "com.microsoft"}
    nodes += [node("Reshape", "x split", "x3"), node("ReduceSum", "x i1", "sum"), node("Greater", "x c6", "above")]
    bad("its inputs are not of one shape and type", "Where", "above x sum")
    bad("its condition is a constant", "Where", "c6 x x")
    bad("[6] and [5] columns do not fit to each other", "Max", "x c5")
    bad("its bounds are no numbers", "Clip", "x nan")
    bad("its input 'c6' is not a constant number", "Clip", "x c6")
    bad("its input 'c6' is not a constant number", "Pow", "x c6")
    bad("its slope is wider than its input", "PRelu", "sum c6")
    bad("its slope is not a constant", "PRelu", "x x")
    bad("[6] and [5] columns do not fit to each other", "PRelu", "x c5")
    bad("no such function with its alpha", "Celu", "x", alpha=-1.0)
    bad("it has the unknown approximation 'what'", "Gelu", "x", approximate="what")
    bad("do not fit to each other", "BiasGelu", "x c5", **microsoft)
    bad("it has no offset or no scale", "Scaler", "x", domain="ai.onnx.ml")
    bad("[6] and [5] columns", "Scaler", "x", domain="ai.onnx.ml", offset=[1.0] * 5, scale=[1.0])
    bad("[6] and [5] columns", "Scaler", "x", domain="ai.onnx.ml", offset=[1.0], scale=[1.0] * 5)
    again = bad("its attribute 'alpha' stands twice", "Elu", "x", alpha=2.0)
    again.attribute.extend([again.attribute[0]])
    of_function = bad("its attribute 'alpha' is that of a function", "Elu", "x", alpha=2.0)
    of_function.attribute[0].ref_attr_name = "p"
    bad("it has no axis 7", "Softmax", "x", axis=7)
    bad("it has no axis 7", "ReduceSum", "x i7")
    bad("its axes are not constant whole numbers", "ReduceSum", "x c6")
    bad("it is over a part of a row of [2, 3] columns", "ReduceMean", "x3", axes=[1])
    bad("its scale is of int64", "LayerNormalization", "x i1")
    bad("its scale is of float64", "LayerNormalization", "x f64")
    bad("'c5' of shape [5] does not fit to [6] columns", "LayerNormalization", "x c5")
    bad("its scale is not a constant", "LayerNormalization", "x x")
    bad("its input 1 is left out", "LayerNormalization", "x - c6")
    bad("it has no axis 7", "LayerNormalization", "x c6", axis=7)
    bad("from axis 2 on", "LayerNormalization", "x3 c6")
    bad("its inputs are constants", "SkipLayerNormalization", "c6 c6 x", **microsoft)
    bad("do not fit to each other", "SkipLayerNormalization", "x c5 c6", **microsoft)
    bad("do not fit to each other", "SkipLayerNormalization", "x x c6 c6 c5", **microsoft)
    bad("its mean or deviation is used", "SkipLayerNormalization", "x x c6", ["y_", "mean"],
        **microsoft)
    outputs[-1] = "mean"
    bad("it is over a part of a row", "SkipLayerNormalization", "x3 x3 c6", **microsoft)
    bad("it is in training mode", "BatchNormalization", "x c6 c6 c6 c6", training_mode=1)
    bad("its mean has not one float for each channel", "BatchNormalization", "x c6 c6 c5 c6")
    bad("its variance is not a constant", "BatchNormalization", "x c6 c6 c6 x")
    bad("its shape has more than 8 dimensions", "Reshape", "x nine")
    bad("its shape is not a constant", "Reshape", "x x")
    bad("it copies a dimension that is not there", "Reshape", "x copied")
    bad("it has no axis 9", "Flatten", "x", axis=9)
    bad("axis 0 does not keep the rows apart", "Flatten", "x", axis=0)
    bad("axis 1 is not 1", "Squeeze", "x i1")
    bad("it would remove the rows", "Squeeze", "sum i0")
    bad("it names axis 1 twice", "Squeeze", "sum i11")
    bad("it has no axis 7", "Squeeze", "x i7")
    bad("it puts a dimension in front of the rows", "Unsqueeze", "x i0")
    bad("its result has more than 8 dimensions", "Unsqueeze", "x seven_more")
    bad("its axes are not constant whole numbers", "Unsqueeze", "x c6")
    bad("its perm has not one entry for each dimension", "Transpose", "x", perm=[0, 2, 1])
    bad("its perm is no order of the dimensions", "Transpose", "x", perm=[0, 0])
    bad("it leaves no columns", "Slice", "x i5 i2 i1")
    bad("its step is 0", "Slice", "x i0 i5 i1 i0")
    bad("it has no axis 7", "Slice", "x i0 i5 i7")
    bad("its starts, ends, axes and steps are not equally many", "Slice", "x i0 i12 i1")
    bad("its starts are not constant whole numbers", "Slice", "x c6 i5 i1")
    bad("it has not as many outputs as parts", "Split", "x i33", axis=1)
    bad("its parts are not the whole", "Split", "x i12", ["y_a", "y_b"], axis=1)
    bad("it has no axis 7", "Split", "x i33", axis=7)
    bad("its indices are no constant whole numbers", "Gather", "x c6", axis=1)
    bad("it picks column 9 of 6", "Gather", "x i9", axis=1)
    bad("it has no axis 7", "Gather", "x i0", axis=7)
    bad("its parts do not fit to each other", "Concat", "x x3", axis=1)
    bad("it has no axis 7", "Concat", "x x", axis=7)
    bad("'w3' of shape [2, 6, 4] is no matrix", "MatMul", "x w3")
    bad("no vector for each row", "MatMul", "x3 w")
    bad("its factors are no matrices", "Gemm", "x3 w")
    bad("its second factor is not a constant", "Gemm", "x x")
    bad("it has 2 inputs", "Relu", "x x")
    bad("its input 1 is left out", "Sum", "x -")
    bad("its input is not a constant", "Expand", "x i6")
    bad("it computes with the number inf", "Elu", "x", alpha=float("inf"))
    # Of constants.
    bad("it has not one value", "Constant", "")
    bad("more than 8 dimensions", "ConstantOfShape", "nine")
    bad("its value is not one number", "ConstantOfShape", "i6", value=tensor("", np.ones(2, "f4")))
    bad("its shape is none", "Reshape", "c6 less")
    bad("more than 8 dimensions", "Reshape", "c6 nine")
    bad("more than 8 dimensions", "Expand", "c6 nine")
    bad("it turns numbers into what is none", "Cast", "c6", to=TensorProto.STRING)
    bad("its whole numbers are too large", "Cast", "huge", to=I64)
    bad("it combines f32 with int64", "Add", "c6 i6")
    bad("are no whole numbers, or of too many dimensions", "Gather", "c6 c6")
    bad("it has no axis 7", "Concat", "c6 c6", axis=7)
    bad("it has no axis 7", "Split", "c6 i6", axis=7)
    bad("it has no axis 7", "Squeeze", "c6 i7")
    bad("its starts are not constant whole numbers", "Slice", "c6 c6 i5")
    bad("it has no axis 7", "Slice", "c6 i0 i5 i7")
    # Tensors.
    unknown = TensorProto(data_type=TensorProto.COMPLEX64, dims=[1], float_data=[1, 2])
    nine = TensorProto(data_type=F32, dims=[1] * 9, float_data=[1])
    part = TensorProto(data_type=F32, dims=[1], float_data=[1])
    part.segment.begin = 0
    twice = TensorProto(data_type=F32, dims=[1], float_data=[1], raw_data=b"1234")
    apart = TensorProto(data_type=F32, dims=[1], float_data=[1], data_location=TensorProto.EXTERNAL)
    short = TensorProto(data_type=F64, dims=[2], double_data=[1])
    for reason, value in (
        ("has a type of numbers that mlpc does not know", unknown), ("has more than 8 dimensions", nine),
        ("is one of several segments", part), ("has its data in two places", twice),
        ("has its data in two places", apart), ("holds another number of elements than its shape says", short),
    ):
        bad(reason, "Constant", "", value=value)
        bad(reason, "ConstantOfShape", "i6", value=value)
    made = model(nodes, [port("x", ["n", 6])], [port(o, None) for o in outputs], initial,
                 domains=["com.microsoft", "ai.onnx.ml"])
    refuse("all_at_once", made, *dict.fromkeys(reasons))

    x = port("x", ["n", 6])
    made = model([node("Relu", "x", "y")], [x, x], [port("y", None), port("nowhere", None)],
                 [tensor("w", np.ones(2, "f4")), tensor("w", np.ones(2, "f4"))])
    made.opset_import.extend([helper.make_opsetid("ai.onnx", 17)])
    made.graph.sparse_initializer.extend([onnx.SparseTensorProto(values=tensor("few", np.ones(1, "f4")),
                                                                 indices=ints("", 0), dims=[9])])
    refuse("all_twice", made, "imports ONNX's operators twice", "two initializers have the name 'w'",
           "the initializer 'few' is sparse", "two inputs have the name 'x'", "nothing gives the output 'nowhere'")
    refuse("no_outputs", model([node("Relu", "x", "y")], [x], []), "it has no outputs")
    made = model([node("Relu", "x", "y")], [x], [port("y", None)])
    del made.opset_import[:]
    refuse("no_version", made, "does not say which version of ONNX's operators it uses")


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(os.path.join(FOLDER, "refused"))
    for case in (
        old_exporter,
        spelled_out,
        columns,
        activations,
        near_misses,
        chosen_softplus,
        coerced,
        half,
        brain,
        external,
        vector,
        tied,
        layers,
        folded,
    ):
        case()
    all_refused()
    forms()
    all_at_once()
    with open(os.path.join(FOLDER, "ACCEPTED.tsv"), "w") as file:
        file.write("# folder, options, and texts that the spec has, with | between\n")
        file.writelines("\t".join(row) + "\n" for row in accepted)
    with open(os.path.join(FOLDER, "REFUSED.tsv"), "w") as file:
        file.write("# file in refused/, and texts that the message has, with | between\n")
        file.writelines("\t".join(row) + "\n" for row in refused)


main()
