"""Holds mlpc import to ONNX's own node tests and to ONNX Runtime, on models as exporters write them.

    python3 -m venv env && env/bin/pip install onnx onnxruntime scikit-learn skl2onnx numpy [torch onnxscript]
    env/bin/python tests/onnx/peers.py build [--only=nodes,sklearn,keras,torch,random] [--match=TEXT]

Every model is imported, the spec compiled for the CPU, the program run, and its outputs compared with the reference of
the test, or with what ONNX Runtime computes: within 1e-5 * max(1, the largest number); 4e-3 for f16, 3e-2 for bf16.
Prints a line for each group, and the differences. Exits with 1 where one is off.
"""

import argparse
import collections
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TOLERANCE = 1e-5
ENVIRONMENT = dict(os.environ, CC=os.environ.get("CC", "gcc") + " -O1")


class Refused(Exception):
    pass


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, env=ENVIRONMENT, timeout=600)


def import_model(build, model, folder, bound):
    """The spec's folder, or Refused; anything else is a failure."""
    path = os.path.join(folder, "m.onnx")
    onnx.save(model, path)
    words = []
    for name, array in bound.items():
        file = os.path.join(folder, f"bind_{len(words)}.npy")
        np.save(file, array)
        words.append(f"--bind={name}={file}")
    said = run(f"{build}/mlpc", "import", "-o", folder, "--name=m", *words, path)
    if said.returncode == 1 and "error:" in said.stderr:
        raise Refused(said.stderr.strip())
    if said.returncode:
        raise AssertionError(f"import: status {said.returncode}: {said.stderr}")


def ports(folder):
    """Names and widths of the spec's inputs and outputs, in its order."""
    inputs, outputs = [], []
    for line in open(os.path.join(folder, "m.mlp")):
        word = line.split()
        if word[:1] == ["input"]:
            inputs.append((word[1].rstrip(":"), int(word[2].split("[")[1].split("]")[0])))
        if word[:1] == ["output"]:
            outputs.append(word[1].rstrip(":;"))
    return inputs, outputs


def load(path):
    """An array; a program's bfloat16 comes as two bytes of no type."""
    array = np.load(path)
    return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32) if array.dtype.kind == "V" else array


def tolerance_of(arrays):
    names = {str(array.dtype) for array in arrays}
    return 3e-2 if "bfloat16" in names else 4e-3 if "float16" in names else TOLERANCE


def difference(got, expected):
    """As a share of what is allowed; infinite where NaN or infinities do not meet."""
    got, expected = got.astype(np.float64).ravel(), np.asarray(expected).astype(np.float64).ravel()
    if got.shape != expected.shape:
        raise AssertionError(f"{got.size} numbers, expected {expected.size}")
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    off = np.where(same, 0, np.abs(got - expected))
    finite = np.abs(expected[np.isfinite(expected)])
    return float(np.max(np.nan_to_num(off, nan=np.inf), initial=0)) / max(1, finite.max(initial=0))


def run_program(build, folder, inputs, expected):
    """The largest difference of all outputs."""
    program = os.path.join(folder, "program")
    said = run(
        f"{build}/mlpc", "--exe", "--target=cpu", "--cpu=native", "-o", program, os.path.join(folder, "m.mlp")
    )
    if said.returncode:
        raise AssertionError(f"mlpc refuses the spec: {said.stderr}")
    names, results = ports(folder)
    words = []
    if len(names) < len(inputs):  # no output depends on the others
        inputs = {name: inputs[name] for name, _ in names}
    for (name, width), array in zip(names, inputs.values(), strict=True):
        np.save(os.path.join(folder, f"in_{name}.npy"), np.ascontiguousarray(array).reshape(-1, width))
        words.append(f"{name}={folder}/in_{name}.npy")
    said = run(program, *words, *[f"{name}={folder}/out_{name}.npy" for name in results])
    if said.returncode:
        raise AssertionError(f"the program fails: {said.stderr}")
    if len(results) != len(expected):
        raise AssertionError(f"{len(results)} outputs, expected {len(expected)}")
    return max(difference(load(f"{folder}/out_{name}.npy"), want) for name, want in zip(results, expected))


def needed_inputs(model):
    read = {name for node in model.graph.node for name in node.input} | {o.name for o in model.graph.output}
    initial = {tensor.name for tensor in model.graph.initializer}
    return [i.name for i in model.graph.input if i.name in read and i.name not in initial]


class Report:
    def __init__(self, build, match):
        self.build, self.match = build, match
        self.counts = collections.defaultdict(collections.Counter)
        self.worst = collections.defaultdict(float)
        self.reasons = collections.Counter()

    def check(self, group, name, model, inputs, expected, bindings=((),)):
        """Tries the ways of binding inputs in turn; the first that is not refused counts."""
        if self.match and self.match not in name:
            return
        refusal = None
        for bound in bindings:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    import_model(self.build, model, folder, {key: inputs[key] for key in bound})
                    free = {key: inputs[key] for key in needed_inputs(model) if key not in bound}
                    off = run_program(self.build, folder, free, expected)
                    if tolerance_of([*inputs.values(), *expected]) == TOLERANCE:
                        self.worst[group] = max(self.worst[group], off)
                    good = off <= tolerance_of([*inputs.values(), *expected])
                    self.counts[group]["agrees" if good else "wrong"] += 1
                    if not good:
                        print(f"WRONG {group} {name}: {off:.2g}")
                        print(open(os.path.join(folder, "m.mlp")).read())
                    return
                except Refused as refused:
                    refusal = refusal or str(refused)
                except Exception as failure:
                    self.counts[group]["wrong"] += 1
                    print(f"WRONG {group} {name}: {failure}")
                    return
        self.counts[group]["refused"] += 1
        self.reasons[refusal.split(": error: ")[-1].split("): ")[-1]] += 1
        if self.match:
            print(f"refused {group} {name}: {refusal}")

    def print(self):
        print("| group | agree | refused | wrong | largest difference of f32 |\n|---|---|---|---|---|")
        for group, count in self.counts.items():
            print(
                f"| {group} | {count['agrees']} | {count['refused']} | {count['wrong']} | {self.worst[group]:.1e} |"
            )
        return not any(count["wrong"] for count in self.counts.values())


# ---- ONNX's node tests ----


def group_of(name):
    for begin in (
        "gemm",
        "matmul",
        "softmax",
        "logsoftmax",
        "layer_normalization",
        "rms_normalization",
        "batchnorm",
        "reduce",
        "reshape",
        "flatten",
        "squeeze",
        "unsqueeze",
        "transpose",
        "concat",
        "slice",
        "split",
        "gather",
        "clip",
        "pow",
        "cast",
        "identity",
        "dropout",
        "add",
        "sub",
        "mul",
        "div",
        "max",
        "min",
        "mean",
        "sum",
        "expand",
        "shape",
        "constant",
    ):
        if name.startswith(begin):
            return begin
    return "other"


ACTIVATIONS = (
    "relu",
    "leakyrelu",
    "elu",
    "selu",
    "celu",
    "gelu",
    "hardsigmoid",
    "hardswish",
    "sigmoid",
    "tanh",
    "softplus",
    "softsign",
    "mish",
    "swish",
    "prelu",
    "thresholdedrelu",
    "exp",
    "log",
    "sqrt",
    "abs",
    "neg",
    "reciprocal",
    "erf",
    "hardmax",
)


def nodes(report):
    from onnx.backend.test.case.node import collect_testcases

    for case in collect_testcases(None):
        name = case.name.removeprefix("test_")
        model, data = case.model, case.data_sets[0] if case.data_sets else None
        if data is None:
            continue
        given, expected = data
        names = [i.name for i in model.graph.input]
        arrays = [numpy_helper.to_array(a) if isinstance(a, TensorProto) else a for a in given]
        if not all(isinstance(a, np.ndarray) for a in arrays) or len(arrays) != len(names):
            continue
        if not all(isinstance(a, np.ndarray) for a in expected):
            continue
        inputs = dict(zip(names, arrays))
        base = name.split("_")[0]
        group = "activations" if base in ACTIVATIONS else group_of(name)
        bindings = [
            (),
            names[1:],
            [n for n in names[1:] if n not in ("c", "C")],
            [n for n, a in inputs.items() if a.dtype.kind not in "f"],
        ]
        report.check("nodes: " + group, name, model, inputs, expected, bindings)


# ---- exporters, held to ONNX Runtime ----


def by_runtime(report, group, name, model, inputs):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    data = model if isinstance(model, str) else model.SerializeToString()
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    expected = session.run(None, inputs)
    report.check(group, name, onnx.load(model) if isinstance(model, str) else model, inputs, expected)


def without(model, *outputs):
    """The model without outputs that mlpc has no types for."""
    kept = [o for o in model.graph.output if o.name not in outputs]
    del model.graph.output[:]
    model.graph.output.extend(kept)
    return model


def sklearn(report):
    import warnings

    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from skl2onnx import to_onnx

    warnings.filterwarnings("ignore")
    random = np.random.RandomState(0)
    x = random.randn(300, 8).astype(np.float32)
    classes = (x[:, 0] > 0).astype(int) + (x[:, 1] > 0)
    for activation in ("relu", "tanh", "logistic", "identity"):
        for layers in ((16,), (32, 16), (24, 16, 8)):
            options = dict(hidden_layer_sizes=layers, activation=activation, max_iter=30, random_state=0)
            for name, y in (("classes", classes), ("binary", classes > 0)):
                model = MLPClassifier(**options).fit(x, y)
                exported = without(to_onnx(model, x[:1], options={"zipmap": False}), "label")
                by_runtime(
                    report, "scikit-learn MLPClassifier", f"{name}_{activation}_{len(layers)}", exported, {"X": x}
                )
            for name, model in (
                ("plain", MLPRegressor(**options)),
                ("scaled", make_pipeline(StandardScaler(), MLPRegressor(**options))),
            ):
                exported = to_onnx(model.fit(x, x[:, 0] * x[:, 1]), x[:1])
                by_runtime(
                    report, "scikit-learn MLPRegressor", f"{name}_{activation}_{len(layers)}", exported, {"X": x}
                )


def keras(report):
    """Dense layers as tf2onnx writes them: MatMul by [in, out], Add, names with slashes and colons."""
    random = np.random.RandomState(1)
    activations = {
        "relu": "Relu",
        "tanh": "Tanh",
        "sigmoid": "Sigmoid",
        "elu": "Elu",
        "selu": "Selu",
        "softplus": "Softplus",
        "softsign": "Softsign",
    }
    for opset in (9, 11, 13, 15, 18, 21):
        for name, op in activations.items():
            sizes, made, initial, value = (12, 32, 24, 5), [], [], "dense_input"
            for i, (size, out) in enumerate(zip(sizes, sizes[1:])):
                base = f"sequential/dense_{i}"
                initial += [
                    numpy_helper.from_array(
                        random.randn(size, out).astype("f4") / 4, f"{base}/MatMul/ReadVariableOp:0"
                    ),
                    numpy_helper.from_array(random.randn(out).astype("f4"), f"{base}/BiasAdd/ReadVariableOp:0"),
                ]
                made.append(helper.make_node("MatMul", [value, initial[-2].name], [f"{base}/MatMul:0"]))
                made.append(helper.make_node("Add", [f"{base}/MatMul:0", initial[-1].name], [f"{base}/BiasAdd:0"]))
                last = i + 2 == len(sizes)
                value = f"{base}/{'Softmax' if last else op}:0"
                made.append(helper.make_node("Softmax" if last else op, [f"{base}/BiasAdd:0"], [value]))
            made.append(helper.make_node("Identity", [value], ["Identity:0"]))
            graph = helper.make_graph(
                made,
                "keras",
                [helper.make_tensor_value_info("dense_input", 1, ["unk__1", 12])],
                [helper.make_tensor_value_info("Identity:0", 1, ["unk__2", 5])],
                initial,
            )
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
            by_runtime(
                report, "Keras-like", f"{name}_{opset}", model, {"dense_input": random.randn(33, 12).astype("f4")}
            )


def torch_models():
    from torch import nn

    class Block(nn.Module):
        def __init__(self, width, act, norm):
            super().__init__()
            self.norm, self.up, self.act, self.down = (
                norm,
                nn.Linear(width, 2 * width),
                act,
                nn.Linear(2 * width, width),
            )

        def forward(self, x):
            return x + self.down(self.act(self.up(self.norm(x))))

    class Gated(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.RMSNorm(16)
            self.gate, self.up, self.down = (
                nn.Linear(16, 32, bias=False),
                nn.Linear(16, 32, bias=False),
                nn.Linear(32, 16, bias=False),
            )

        def forward(self, x):
            h = self.norm(x)
            return x + self.down(nn.functional.silu(self.gate(h)) * self.up(h))

    class Flat(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(
                nn.Linear(48, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(), nn.Linear(32, 10)
            )

        def forward(self, x):
            return self.net(x.view(x.size(0), -1)).log_softmax(-1)

    class Split(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.Linear(16, 24), nn.Linear(8, 4)

        def forward(self, x):
            a, b, c = self.body(x).chunk(3, dim=-1)
            return self.head(a * b.sigmoid() + c.clamp(-1, 1)), a[:, 2:5]

    shapes = {2: (5, 16), 3: (3, 7, 16)}
    for act in (
        nn.ReLU(),
        nn.GELU(),
        nn.GELU("tanh"),
        nn.SiLU(),
        nn.Mish(),
        nn.Hardswish(),
        nn.Hardsigmoid(),
        nn.ELU(),
        nn.SELU(),
        nn.CELU(0.5),
        nn.LeakyReLU(),
        nn.PReLU(32),
        nn.ReLU6(),
        nn.Softplus(),
        nn.Softsign(),
        nn.Tanh(),
        nn.Sigmoid(),
        nn.LogSigmoid(),
        nn.Hardtanh(),
    ):
        name = type(act).__name__ + ("_tanh" if getattr(act, "approximate", "") == "tanh" else "")
        rank = 2 if isinstance(act, nn.PReLU) else 3
        yield name, nn.Sequential(*[Block(16, act, nn.LayerNorm(16)) for _ in range(3)]), shapes[rank]
    yield "gated", nn.Sequential(*[Gated() for _ in range(3)]), shapes[3]
    yield "flat", Flat(), (5, 3, 4, 4)
    yield "split", Split(), shapes[2]
    yield "deep", nn.Sequential(*[m for _ in range(6) for m in (nn.Linear(16, 16), nn.Tanh())]), shapes[2]


def torch(report):
    import contextlib
    import io
    import warnings

    import torch as pytorch

    warnings.filterwarnings("ignore")
    pytorch.manual_seed(0)
    for name, model, shape in torch_models():
        model.eval()
        x = pytorch.randn(*shape)
        for module in model.modules():  # after training, norms are not what they were at first
            if hasattr(module, "running_mean"):
                module.running_mean.normal_()
                module.running_var.uniform_(0.5, 2)
            for parameter in module.parameters(False):
                pytorch.nn.init.uniform_(parameter, -0.4, 0.4)
        for opset, dynamo in ((11, False), (13, False), (17, False), (20, False), (18, True), (23, True)):
            with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(
                io.StringIO()
            ), contextlib.redirect_stderr(io.StringIO()):
                path = os.path.join(folder, "m.onnx")
                how = (
                    dict(dynamic_shapes=({0: pytorch.export.Dim.DYNAMIC},))
                    if dynamo
                    else dict(dynamic_axes={"x": {0: "batch"}})
                )
                try:
                    pytorch.onnx.export(
                        model, (x,), path, input_names=["x"], dynamo=dynamo, opset_version=opset, **how
                    )
                except Exception:
                    continue  # the exporter has no such operator in this version
                exported = onnx.load(path)
            group = "PyTorch, torch.export" if dynamo else "PyTorch, TorchScript"
            by_runtime(report, group, f"{name}_{opset}", exported, {"x": x.numpy()})


# ---- graphs at random, held to ONNX Runtime ----


class Graph:
    """Grows by operators whose arguments are values so far, or constants of shapes that stretch to them."""

    def __init__(self, seed):
        self.random = np.random.RandomState(seed)
        self.opset = self.random.choice([9, 11, 13, 17, 18, 20, 22])
        self.nodes, self.initial, self.values = [], [], {}
        lead = [[None], [None, 3], [None, 2]][self.random.randint(3)]
        self.inputs = {}
        for name in ("x", "z")[: 1 + self.random.randint(2)]:
            shape = [4 if n is None else n for n in lead] + [int(self.random.choice([1, 4, 6, 8]))]
            self.inputs[name] = self.random.randn(*shape).astype("f4")
            self.values[name] = shape
        self.declared = [
            helper.make_tensor_value_info(name, 1, ["n"] + list(shape[1:])) for name, shape in self.values.items()
        ]

    def constant(self, *shape, positive=False):
        name = f"c{len(self.initial)}"
        values = np.float32(self.random.randn(*shape))
        self.initial.append(numpy_helper.from_array(np.abs(values) + 0.5 if positive else values, name))
        return name

    def integers(self, *values):
        name = f"c{len(self.initial)}"
        self.initial.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def add(self, op, inputs, shape, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        self.values[name] = list(shape)
        return name

    def pick(self):
        return list(self.values)[-1 - self.random.randint(min(4, len(self.values)))]

    def step(self):
        x = self.pick()
        shape = self.values[x]
        kind = self.random.randint(10)
        if kind == 0:
            op = self.random.choice(["Relu", "Sigmoid", "Tanh", "Softplus", "Abs", "Neg", "Softsign", "Identity"])
            self.add(op, [x], shape)
        elif kind == 1:
            op, key = [("LeakyRelu", "alpha"), ("Elu", "alpha"), ("HardSigmoid", "beta")][self.random.randint(3)]
            self.add(op, [x], shape, **{key: float(self.random.rand())})
        elif kind == 2:
            part = [n if self.random.rand() < 0.6 else 1 for n in shape[1:]]
            part = part[self.random.randint(len(part)) :] if self.random.rand() < 0.5 else part
            op = self.random.choice(["Add", "Sub", "Mul", "Div", "Max", "Min"])
            pair = [x, self.constant(*part, positive=op == "Div")]
            self.add(op, pair if op == "Div" or self.random.rand() < 0.7 else pair[::-1], shape)
        elif kind == 3:
            y = self.pick()
            if len(self.values[y]) == len(shape) and all(
                a == b or 1 in (a, b) for a, b in zip(shape, self.values[y])
            ):
                wide = [max(a, b) for a, b in zip(shape, self.values[y])]
                self.add(self.random.choice(["Add", "Sub", "Mul", "Max"]), [x, y], wide)
        elif kind in (4, 5):
            out = int(self.random.choice([1, 4, 6, 8]))
            if len(shape) == 2 and self.random.rand() < 0.6:
                turned = self.random.randint(2)
                w = self.constant(*((out, shape[-1]) if turned else (shape[-1], out)))
                c = [self.constant(*[(out,), (1,), (1, out), (1, 1), ()][self.random.randint(5)])]
                self.add(
                    "Gemm",
                    [x, w] + c[: int(self.random.randint(2) or self.opset < 11)],
                    [shape[0], out],
                    transB=turned,
                    alpha=float(self.random.choice([1, 0.5])),
                    beta=float(self.random.choice([1, 2])),
                )
            else:
                self.add("MatMul", [x, self.constant(shape[-1], out)], shape[:-1] + [out])
        elif kind == 6:
            self.add(self.random.choice(["Softmax", "LogSoftmax"]), [x], shape, axis=len(shape) - 1)
        elif kind == 7 and len(shape) > 2:
            if self.random.rand() < 0.5:
                self.add("Transpose", [x], [shape[0], shape[2], shape[1]], perm=[0, 2, 1])
            else:
                self.add("Flatten", [x], [shape[0], shape[1] * shape[2]], axis=1)
        elif kind == 7:
            a, b = sorted(self.random.choice(shape[1] + 1, 2, replace=False))
            step = int(self.random.choice([1, 1, 2]))
            if self.opset > 9:
                self.add(
                    "Slice",
                    [x, self.integers(a), self.integers(b), self.integers(1), self.integers(step)],
                    [shape[0], -(-(b - a) // step)],
                )
        elif kind == 8:
            axis = len(shape) - 1
            picked = self.random.randint(shape[axis], size=3)
            self.add("Gather", [x, self.integers(*picked)], shape[:-1] + [3], axis=axis)
        else:
            y = self.pick()
            if self.values[y][:-1] == shape[:-1]:
                self.add("Concat", [x, y], shape[:-1] + [shape[-1] + self.values[y][-1]], axis=len(shape) - 1)

    def model(self, steps):
        for _ in range(steps):
            self.step()
        names = list(self.values)[-1:] + [self.pick()]
        outputs = [helper.make_tensor_value_info(name, 1, None) for name in dict.fromkeys(names)]
        graph = helper.make_graph(self.nodes, "random", self.declared, outputs, self.initial)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", int(self.opset))], ir_version=8)


def chance(report):
    for seed in range(report.chance):
        graph = Graph(seed)
        model = graph.model(12)
        by_runtime(report, "random graphs", f"random_{seed}", model, graph.inputs)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("build")
    arguments.add_argument("--only", default="nodes,sklearn,keras,torch,random")
    arguments.add_argument("--match")
    arguments.add_argument("--chance", type=int, default=300, help="how many random graphs")
    arguments = arguments.parse_args()
    report = Report(arguments.build, arguments.match)
    report.chance = arguments.chance
    groups = dict(nodes=nodes, sklearn=sklearn, keras=keras, torch=torch, random=chance)
    for name in arguments.only.split(","):
        groups[name](report)
    good = report.print()
    for reason, count in report.reasons.most_common(40):
        print(f"refused {count} times: {reason}", file=sys.stderr)
    sys.exit(not good)


main()
