"""A network of networks.py as an ONNX model, for any number of rows: input x, output y."""

import onnx
from onnx import TensorProto, helper, numpy_helper

from networks import NORM, NORM_EPS

OPERATORS = {"relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid", "gelu": "Gelu", "softmax": "Softmax"}
OPSET, FORMAT = 20, 10


def nodes(network):
    """The last value is named y by the caller."""
    value = "x"
    for name, _, _, act in network.layers:
        yield helper.make_node("Gemm", [value, f"{name}.weight", f"{name}.bias"], [name], transB=1)
        value = name
        if act:
            yield helper.make_node(OPERATORS[act], [value], [f"{name}.{act}"])
            value = f"{name}.{act}"
    if network.shape == "normed":
        yield helper.make_node("Add", ["x", value], ["sum"])
        yield helper.make_node("LayerNormalization", ["sum", f"{NORM}.weight", f"{NORM}.bias"], [NORM],
                               epsilon=NORM_EPS)


def write(path, network, weights):
    chain = list(nodes(network))
    chain[-1].output[0] = "y"
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", width])
             for name, width in (("x", network.width), ("y", network.outputs))]
    tensors = [numpy_helper.from_array(tensor.numpy(), name) for name, tensor in weights.items()]
    graph = helper.make_graph(chain, network.name, ports[:1], ports[1:], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=FORMAT)
    onnx.checker.check_model(model)
    onnx.save(model, path)
