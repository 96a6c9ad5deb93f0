"""Measures mlpc's CPU target, and beside it ONNX Runtime, PyTorch and OpenBLAS, in f32. cpu.sh starts it.

Contenders, each in a process of its own that stays alive:
    mlpc              as shipped: a library of mlpc --lib, called through its mlp_model
    onnxruntime       ONNX Runtime's C API, input and output bound
    eager, compiled   PyTorch; torch.compile with the weights as constants
    openblas rows, openblas columns    sgemm or sgemv and loops for the rest, for each layout of the weights
    floor             one row: loading the weights; more: the multiply-adds in registers
They run bursts in turn, the order moves; a figure is the least or the median of the bursts' means, with the weights in
the caches where they fit. Every result is held to float64 before anything is timed.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import torch

import cpu_report as report
import onnx_model
from networks import (NORM, NORM_EPS, TOLERANCE, Judge, random_rows, random_weights, read, write_npy,
                      write_safetensors)
from process import Failed, Process

HERE = Path(__file__).resolve().parent
PEERS = HERE / "peers"
NETWORKS = ("digits", "policy", "mnist", "dlrm_bot", "dlrm_top", "minilm_ffn")
START_NETWORKS = ("digits", "mnist", "dlrm_top")
ROWS, THREADS = (1, 32, 512), (1, 2)
BURST_SECONDS, MOST_RUNS, TRIALS = 4e-3, 5000, 3
PAUSE_SECONDS = 0.06            # before a burst of several threads: the others' workers spin before they sleep
PATIENCE = 900                  # torch.compile
STARTED = time.monotonic()


def say(text):
    print(f"[{time.monotonic() - STARTED:5.0f} s] {text}", flush=True)


# ---- Building ----

def command(*words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{Path(words[0]).name} failed: {' '.join((done.stderr or done.stdout).split())[:300]}")
    return done.stdout


def compile_peer(target, sources, flags=(), libraries=()):
    """A program of peer.c, or of once.c, and the contender's own source."""
    command("gcc", "-std=gnu11", "-Wall", "-O2", *flags, "-o", target, *(PEERS / f"{name}.c" for name in sources),
            PEERS / "files.c", *libraries, "-lm", "-lpthread")


class Tools:
    """What is the same for all networks."""

    def __init__(self, options):
        import onnxruntime
        import scipy_openblas32
        self.options, self.work = options, options.work
        self.mlpc = options.build / "mlpc"
        self.mlpc_for_cpu = [self.mlpc, "--target=cpu", *([f"--cpu={options.levels}"] if options.levels else [])]
        native = ["-O3", "-march=native"]
        openblas = Path(scipy_openblas32.get_lib_dir()) / "libscipy_openblas.so"
        # The package has the library under its full version, programs look for it by its first number.
        library = self.work / "libonnxruntime.so.1"
        library.unlink(missing_ok=True)
        library.symlink_to(next((Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so.*")))
        compile_peer(self.work / "floor", ["peer", "floor"], [*native, "-ffp-contract=fast"])
        compile_peer(self.work / "openblas", ["peer", "openblas"], [*native, "-ffast-math"],
                     [openblas, f"-Wl,-rpath,{openblas.parent}"])
        for program, main in (("onnxruntime", "peer"), ("onnxruntime_once", "once")):
            compile_peer(self.work / program, [main, "onnxruntime"], [], [library, f"-Wl,-rpath,{self.work}"])
        command("gcc", "-O2", "-Wall", "-o", self.work / "start", HERE / "start.c")


class Setup:
    """A network in f32 with its weights, in every contender's form, and the contenders' command lines."""

    def __init__(self, tools, name):
        self.tools, self.folder = tools, tools.work / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.spec = self.write_spec(name)
        self.network = read(self.spec)
        self.weights = random_weights(self.network, "cpu")
        self.safetensors = self.folder / "weights.safetensors"
        write_safetensors(self.safetensors, self.weights)
        onnx_model.write(self.folder / "model.onnx", self.network, self.weights)
        self.write_floats()

    def write_spec(self, name):
        """The spec with f32 in place of its types, and the batch sizes of the bench."""
        specs = self.tools.options.specs
        source = next(path for path in (specs / f"{name}.mlp", specs / "ladder" / f"{name}.mlp") if path.exists())
        text = re.sub(r"\b(bf16|f16)\b", "f32", source.read_text())
        text = re.sub(r"(?m)^(\s*)batch\s.*;", rf"\1batch {', '.join(map(str, ROWS))};", text)
        spec = self.folder / source.name
        spec.write_text(text)
        return spec

    def write_floats(self):
        """For openblas.c: weight and bias of each layer, then the norm's."""
        names = [*(name for name, *_ in self.network.layers), *([NORM] if self.network.shape == "normed" else [])]
        with open(self.folder / "weights.f32", "wb") as file:
            for name in names:
                for part in ("weight", "bias"):
                    file.write(self.weights[f"{name}.{part}"].numpy().tobytes())

    def mlpc(self, threads):
        name, folder = self.network.name, self.folder / f"threads_{threads}"
        folder.mkdir(exist_ok=True)
        command(*self.tools.mlpc_for_cpu, "--lib", f"--weights={self.safetensors}", f"--threads={threads}",
                "-o", folder, self.spec)
        compile_peer(folder / "mlpc", ["peer", "mlpc"],
                     [f"-I{self.tools.options.build / 'runtime'}", f"-I{folder}", f'-DHEADER="{name}.h"',
                      f"-DMODEL={name}_model"], [folder / f"lib{name}.a"])
        return [folder / "mlpc"]

    def openblas(self, layout):
        layers = [f"{outputs}:{act}" for _, _, outputs, act in self.network.layers]
        norm = [f"norm:{NORM_EPS}"] if self.network.shape == "normed" else []
        return [self.tools.work / "openblas", layout, self.folder / "weights.f32", *layers, *norm]

    def start(self, contender, threads):
        """The contender's process."""
        network, work = self.network, self.tools.work
        if contender in ("eager", "compiled"):
            program = [sys.executable, PEERS / "pytorch.py", threads, self.spec, contender]
        else:
            first, *rest = {"mlpc": lambda: self.mlpc(threads),
                            "onnxruntime": lambda: [work / "onnxruntime", self.folder / "model.onnx"],
                            "openblas rows": lambda: self.openblas("rows"),
                            "openblas columns": lambda: self.openblas("columns"),
                            "floor": lambda: [work / "floor", network.weights]}[contender]()
            program = [first, threads, network.width, network.outputs, *rest]
        return Process(program, PATIENCE, env={**os.environ, "OMP_NUM_THREADS": str(threads),
                                               "OPENBLAS_NUM_THREADS": str(threads)},
                       stderr=open(self.folder / f"{contender.replace(' ', '_')}.log", "w"))


# ---- A point ----

def held_to(judge, data, rows):
    """The errors of a result that is right."""
    y = torch.frombuffer(bytearray(data), dtype=torch.float32).view(rows, -1)
    right, words = judge.verdict(y)
    if not right:
        raise Failed(f"the result is wrong: {words}")
    return judge.errors(y)


class Race:
    """The contenders of a network at one number of threads; who fails is out, and the others go on."""

    def __init__(self, setup, threads, names):
        self.setup, self.threads, self.failures, self.processes = setup, threads, {}, {}
        self.rows_file, self.result_file = setup.folder / "rows.f32", setup.folder / "result.f32"
        for name in names:
            self.attempt(name, lambda: self.processes.update({name: setup.start(name, threads)}))

    def attempt(self, name, action):
        try:
            return action()
        except (Failed, OSError) as error:
            self.failures[name] = str(error)
            say(f"{self.setup.network.name}, {self.threads} threads, {name}: {self.failures[name]}")
            if name in self.processes:
                self.processes.pop(name).close()
        return None

    def check(self, name, judge, point):
        """Right before it is timed, or out for this point."""
        self.result_file.unlink(missing_ok=True)
        self.processes[name].ask("check", point.rows, self.rows_file, self.result_file)
        if name == "floor":
            return True
        point.errors[name] = held_to(judge, self.result_file.read_bytes(), point.rows)
        return True

    def burst(self, name, runs):
        if self.threads > 1:
            time.sleep(PAUSE_SECONDS)
        return self.processes[name].numbers("burst", runs)[0]

    def measure(self, point, bursts):
        x = random_rows(self.setup.network, point.rows, "cpu")
        self.rows_file.write_bytes(x.numpy().tobytes())
        judge = Judge(self.setup.network, self.setup.weights, x)
        names = [name for name in list(self.processes) if self.attempt(name, lambda: self.check(name, judge, point))]
        runs = {}
        for name in names:
            seconds = self.attempt(name, lambda: min(self.burst(name, 1) for _ in range(TRIALS)))
            if seconds:
                runs[name] = int(max(1, min(MOST_RUNS, BURST_SECONDS / seconds)))
        for i in range(bursts):
            for name in names[i % len(names):] + names[:i % len(names)]:
                if name in self.processes and name in runs:
                    point.add(name, self.attempt(name, lambda: self.burst(name, runs[name])))
        point.failures.update(self.failures)
        say(f"{point.label}: " + ", ".join(f"{name} {report.cell(point, name)}" for name in runs))

    def close(self):
        for process in self.processes.values():
            process.close()


# ---- Start ----

def measure_start(setup, rounds):
    """From start to the end of a process that computes one row: mlpc's program with the weights in it, and ONNX
    Runtime."""
    network, folder, work = setup.network, setup.folder, setup.tools.work
    x = random_rows(network, 1, "cpu")
    (folder / "row.f32").write_bytes(x.numpy().tobytes())
    write_npy(folder / "row.npy", x)
    program, result = folder / network.name, folder / "start.f32"
    command(*setup.tools.mlpc_for_cpu, "--exe", f"--weights={setup.safetensors}", "-o", program, setup.spec)
    lines = {"mlpc": [program, folder / "row.npy", folder / "start.npy"],
             "onnxruntime": [work / "onnxruntime_once", network.width, network.outputs, folder / "row.f32", result,
                             folder / "model.onnx"]}
    both = [*lines["mlpc"], "--", *lines["onnxruntime"]]
    point = report.Point(network.name, 1, 1)
    for name, line in zip(lines, command(work / "start", rounds, *both).splitlines()):
        for seconds in line.split():
            point.add(name, float(seconds))
    judge = Judge(network, setup.weights, x)
    for data in ((folder / "start.npy").read_bytes()[-4 * network.outputs:], result.read_bytes()):
        held_to(judge, data, 1)
    point.size = program.stat().st_size
    say(f"{point.network}, start: " + ", ".join(f"{name} {report.cell(point, name)} us" for name in lines))
    return point


# ---- The run ----

def said(*words):
    """The first line of what a command says, or nothing."""
    try:
        return (command(*words).splitlines() or [""])[0]
    except (Failed, OSError):
        return ""


def processor():
    text = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*: (.*)", text, re.M)
    numbers = [re.search(rf"^{name}\s*: (\d+)", text, re.M) for name in ("cpu family", "model", "stepping")]
    has = set(re.search(r"^flags\s*: (.*)", text, re.M).group(1).split())
    flags = [name for name in ("avx", "f16c", "fma", "avx2", "avx_vnni", "avx512f", "avx512_bf16", "amx_bf16")
             if name in has]
    return (f"{model.group(1) if model else '?'} (family, model, stepping "
            f"{', '.join(n.group(1) for n in numbers if n)}), {os.cpu_count()} processors, {' '.join(flags)}")


def head_of(tools, bursts):
    from importlib.metadata import version
    root = HERE.parent.parent
    commit = said("git", "-C", root, "rev-parse", "--short=12", "HEAD") or "unknown"
    changed = " with changes" if said("git", "-C", root, "status", "--porcelain", "compiler", "runtime") else ""
    row, element = TOLERANCE[torch.float32]
    return [
        f"{processor()}; {time.strftime('%Y-%m-%d', time.gmtime())}",
        f"{said(tools.mlpc, '--version')}, commit {commit}{changed}; {said('cc', '--version')}; Linux "
        f"{os.uname().release}",
        "onnxruntime {}, torch {}, OpenBLAS {} (scipy-openblas32)".format(
            version("onnxruntime"), torch.__version__, version("scipy-openblas32")),
        f"Microseconds a run, least / median of {bursts} bursts, the contenders' processes in turn; f32, random data, "
        f"weights warm. Every result was within {row:g} (a row) and {element:g} (an element) of float64.",
    ]


class Results:
    """Written anew after each network, so that a run that ends early leaves something."""

    def __init__(self, folder, head):
        self.folder, self.points, self.starts = folder, [], []
        self.facts, self.load = head, os.getloadavg()[0]
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def head(self):
        """How busy the machine was, too: who reads this judges how far to trust it."""
        return [*self.facts, f"Load average {self.load:.2f} at the start, {os.getloadavg()[0]:.2f} at the end, of "
                             f"which this bench makes 1 to {max(point.threads for point in self.points)}."]

    def write(self):
        report.write_csv(self.folder / "cpu.csv", self.points, self.starts)
        report.write_text(self.folder / "cpu.md", self.head, self.points, self.starts)
        report.write_plot(self.folder / "cpu.png", self.head, self.points)


def measure_network(setup, options, results):
    for threads in options.threads:
        race = Race(setup, threads, options.contenders)
        for rows in ROWS:
            point = report.Point(setup.network.name, rows, threads)
            results.points.append(point)
            race.measure(point, options.bursts)
        race.close()
    if setup.network.name in START_NETWORKS and options.starts:
        results.starts.append(measure_start(setup, options.starts))
    results.write()


def names_of(text, known, parser):
    chosen = text.split(",") if text else list(known)
    unknown = [name for name in chosen if name not in known]
    if unknown:
        parser.error(f"no such name: {', '.join(unknown)}; there are {', '.join(known)}")
    return chosen


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME,...", help=f"these networks, of {', '.join(NETWORKS)}")
    parser.add_argument("--contenders", metavar="NAME,...", help="these contenders")
    parser.add_argument("--threads", default="1,2", help="numbers of threads")
    parser.add_argument("--levels", metavar="LIST", help="mlpc's --cpu")
    parser.add_argument("--bursts", type=int, help="of each contender at each point: 40")
    parser.add_argument("--starts", type=int, help="how many are timed: 100; 0: none")
    parser.add_argument("--quick", action="store_true", help="5 bursts, 10 starts, without torch.compile")
    parser.add_argument("--results", type=Path, default=HERE / "results", help="folder of cpu.md, cpu.csv, cpu.png")
    for folder in ("work", "build", "specs"):
        parser.add_argument(f"--{folder}", type=Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.bursts is None:
        options.bursts = 5 if options.quick else 40
    if options.starts is None:
        options.starts = 10 if options.quick else 100
    options.only = names_of(options.only, NETWORKS, parser)
    options.contenders = names_of(options.contenders, report.CONTENDERS, parser)
    if options.quick:
        options.contenders = [name for name in options.contenders if name != "compiled"]
    options.threads = [int(count) for count in options.threads.split(",")]
    return options


def main():
    options = parse(sys.argv[1:])
    tools = Tools(options)
    results = Results(options.results, head_of(tools, options.bursts))
    with torch.inference_mode():
        for name in options.only:
            measure_network(Setup(tools, name), options, results)
    say(f"results are in {options.results}")
    lacking = [point.label for point in results.points if not point.least("mlpc")]
    sys.exit(f"cpu.py: mlpc has no figures at {', '.join(lacking)}" if lacking else 0)


if __name__ == "__main__":
    main()
