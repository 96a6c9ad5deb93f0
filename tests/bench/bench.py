"""Measures the networks of specs/ladder on a GPU: mlpc, and beside it PyTorch and nvmath-python. gpu.sh starts it.

Contenders, in turn, in one run:
    mlpc          as shipped: with NAME.plan beside the spec, where there is one
    first choice  mlpc's steps with the first choice of cuBLASLt: --whole=never, no plan
    eager         PyTorch; for chains also with cuBLASLt's epilogues; gate and up projections as one product or two
    compiled      torch.compile: tuned (max_autotune) while --compile-seconds last, then in its default mode
    nvmath        nvmath-python's Matmul with epilogues, autotuned
Of several forms of a contender the fastest is taken. Every result is held to float64 before anything is timed.
"""

import argparse
import datetime
import importlib.metadata
import os
import re
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

import report
from contenders import (Generated, Launches, compiled_forms, eager_forms, fastest, first_line, nvmath_forms)
from networks import (LADDER, TOLERANCE, Judge, random_rows, random_weights, read, write_npy, write_safetensors)
from process import Failed

HERE = Path(__file__).resolve().parent
GRAPH_SECONDS, MOST_REPEATS = 1e-3, 50          # a steady graph
LEAD_SECONDS = 30e-6                            # of launches that go ahead of a single one
SINGLE_SECONDS, LATENCY_SECONDS = 5e-3, 15e-3   # of samples in one round
FEWEST_SAMPLES, MOST_SINGLE, MOST_LATENCY = 3, 50, 300


def say(text):
    print(f"[{time.monotonic() - STARTED:5.0f} s] {text}", flush=True)


STARTED = time.monotonic()


# ---- Building mlpc's networks ----

class Build:
    """A network as a process that measures (network.c), in one of mlpc's two ways."""

    def __init__(self, options, network, contender):
        self.options, self.network, self.contender = options, network, contender
        self.folder = options.work / network.name / contender.replace(" ", "_")
        self.program = self.folder / "network"
        self.weights = self.folder / f"{network.name}.weights"
        self.note = "plan: --whole=never, first choices" if contender == report.FIRST else ""

    def mlpc_options(self):
        if self.contender == report.FIRST:
            return ["--whole=never"]
        plan = self.network.spec.with_suffix(".plan")
        self.note = "plan: " + (plan.name if plan.exists() else "none there")
        return [f"--plan={plan}"] if plan.exists() else []

    def run(self):
        """What failed, or None."""
        name, include, work = self.network.name, self.options.cuda / "include", self.options.work
        self.folder.mkdir(parents=True, exist_ok=True)
        safetensors = work / name / "weights.safetensors"
        commands = [
            [self.options.mlpc, "--lib", "--target=cuda", "--weights=external", f"--weights={safetensors}",
             *self.mlpc_options(), "-o", self.folder, self.network.spec],
            ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", f"-I{work}/runtime", f"-I{include}", f"-I{HERE}",
             f"-I{self.folder}", f"-DNAME={name}", f'-DHEADER="{name}.h"', "-c", "-o", self.folder / "network.o",
             HERE / "network.c"],
            ["nvcc", "-arch=sm_90", "-o", self.program, self.folder / "network.o", work / "launches.o",
             self.folder / f"lib{name}.a", work / "runtime" / "libmlprt.a", "-lcublasLt", "-lm"],
        ]
        for command in commands:
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
            if done.returncode:
                return f"{Path(command[0]).name} failed: {' '.join((done.stderr or done.stdout).split())[:300]}"
        return None


def build_all(options, networks):
    """{(network, contender): Build}, and {...: what failed}."""
    builds = {(n.name, c): Build(options, n, c) for n in networks for c in (report.OURS, report.FIRST)}
    with ThreadPoolExecutor(options.jobs) as pool:
        complaints = dict(zip(builds, pool.map(Build.run, builds.values())))
    for key, complaint in complaints.items():
        if complaint:
            say(f"FAILED {key[0]}, {key[1]}: {complaint}")
    return builds, complaints


# ---- A network ----

class Session:
    """A network with its weights, mlpc's two processes, and the ways to make PyTorch's contenders."""

    def __init__(self, options, network, builds, complaints, launches):
        self.options, self.network, self.launches = options, network, launches
        self.weights = random_weights(network, "cuda")
        self.processes, self.failures, self.notes, self.details = {}, {}, {}, []
        for contender in (report.OURS, report.FIRST):
            build, complaint = builds[network.name, contender], complaints[network.name, contender]
            try:
                if complaint:
                    raise Failed(complaint)
                self.start(contender, build)
            except Failed as error:
                self.failures[contender] = str(error)

    def start(self, contender, build):
        exchange = self.options.exchange / f"{contender.replace(' ', '_')}.npy"
        process = Generated(str(build.program), str(build.weights), str(exchange))
        self.processes[contender] = process
        self.notes[contender] = process.ask("info")
        self.details.append(f"{self.network.name}, {contender}: {build.note}; {self.notes[contender]}")
        say(self.details[-1])

    def of_mlpc(self, contender, rows):
        if contender in self.failures:
            raise Failed(self.failures[contender])
        form = re.search(rf" {rows} (\w+),", self.notes[contender])
        return self.processes[contender], form.group(1) if form else "form unknown"

    def make(self, contender, x):
        """A contender for these rows, and a note on it."""
        if contender in (report.OURS, report.FIRST):
            return self.of_mlpc(contender, len(x))
        if contender == "eager":
            return fastest(self.launches, eager_forms(self.network, self.weights, x))
        if contender == "nvmath":
            return fastest(self.launches, nvmath_forms(self.network, self.weights, x))
        return self.compile(x)

    def compile(self, x):
        begun = time.monotonic()
        tuned = self.options.compile_seconds > 0
        try:
            graph, note = fastest(self.launches, compiled_forms(self.network, self.weights, x, tuned))
        finally:
            spent = time.monotonic() - begun
            self.options.compile_seconds -= spent
        return graph, f"{note} ({spent:.0f} s)"

    def close(self):
        for process in self.processes.values():
            process.close()


# ---- A point ----

def admit(session, contender, x, rows_file, judge, point):
    """The contender, if it can be had and its result is right; else None, and the point's notes say why."""
    made = None
    try:
        made, note = session.make(contender, x)
        right, words = judge.verdict(made.result(rows_file, x))
        point.notes[contender] = f"{note}; {words}"
        if right:
            return made
        point.notes[contender] = f"WRONG: {words}; {note}"
    except Exception as error:              # whatever libraries raise: the others are measured all the same
        words = str(error) if isinstance(error, Failed) else first_line(error)
        point.notes[contender] = f"FAILED: {words}"
        if session.options.verbose:
            traceback.print_exc()
    say(f"{point.network} {point.rows}, {contender}: {point.notes[contender]}")
    give_back(session, made)
    return None


def give_back(session, contender):
    if contender and contender not in session.processes.values():
        try:
            contender.close()
        except Exception as error:
            say(f"closing: {first_line(error)}")


def between(least, wanted, most):
    return int(max(least, min(wanted, most)))


class Counts:
    """How much is measured of a contender in one round, by what a run of it takes."""

    def __init__(self, seconds):
        self.repeats = between(1, GRAPH_SECONDS / seconds, MOST_REPEATS)
        self.lead = between(1, LEAD_SECONDS / seconds + 1, 20)
        self.single = between(FEWEST_SAMPLES, SINGLE_SECONDS / seconds, MOST_SINGLE)
        self.latency = between(FEWEST_SAMPLES, LATENCY_SECONDS / seconds, MOST_LATENCY)


def measure(contender, figure, counts):
    if figure == "steady":
        return [contender.steady(counts.repeats)]
    if figure == "single":
        return contender.single(counts.lead, counts.single)
    return contender.latency(counts.latency)


class Race:
    """The contenders of a point in turn: who fails on the way is out, and the others go on."""

    def __init__(self, session, point, contenders):
        self.session, self.point, self.contenders = session, point, dict(contenders)
        self.counts = {}

    def attempt(self, name, action):
        try:
            action()
        except Exception as error:          # whatever libraries raise
            self.point.drop(name, f"FAILED while it was timed: {first_line(error)}")
            say(f"{self.point.network} {self.point.rows}, {name}: {self.point.notes[name]}")
            give_back(self.session, self.contenders.pop(name))

    def prepare(self, name):
        self.counts[name] = Counts(self.contenders[name].steady(1))
        self.contenders[name].prepare(self.counts[name].repeats)

    def measure(self, name, figure):
        time.sleep(self.session.options.pause)
        self.point.add(name, figure, measure(self.contenders[name], figure, self.counts[name]))

    def run(self):
        """The order moves by one each round, and each has the same pause before it."""
        names = list(self.contenders)
        for name in names:
            self.attempt(name, lambda: self.prepare(name))
        for i in range(self.session.options.rounds):
            for figure in report.FIGURES:
                for name in names[i % len(names):] + names[:i % len(names)]:
                    if name in self.contenders:
                        self.attempt(name, lambda: self.measure(name, figure))

    def close(self):
        for contender in self.contenders.values():
            give_back(self.session, contender)


def measure_point(session, rows, names, point):
    network = session.network
    x = random_rows(network, rows, "cuda")
    rows_file = session.options.exchange / "rows.npy"
    write_npy(rows_file, x)
    judge = Judge(network, session.weights, x)
    contenders = {name: admit(session, name, x, rows_file, judge, point) for name in names}
    del judge
    race = Race(session, point, {name: contender for name, contender in contenders.items() if contender})
    race.run()
    race.close()
    times = ", ".join(f"{name} {report.microseconds(point.seconds(name, 'steady'))}" for name in race.contenders)
    say(f"{network.name} {rows}: steady {times or 'nothing'}")


def measure_network(session, names, results):
    for rows in session.network.batches:
        point = report.Point(session.network.name, rows, session.network.floor(rows))
        results.points.append(point)
        try:
            measure_point(session, rows, names, point)
        except Exception as error:          # what all share failed, memory for one: the other points are measured
            point.notes["all"] = f"FAILED: {first_line(error)}"
            say(f"{point.network} {rows}: {point.notes['all']}")
        results.write()


# ---- The run ----

def version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not there"


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    except OSError as error:
        return str(error)


def head_of(options):
    driver = output_of("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader").splitlines()
    compiler = output_of("nvcc", "--version").splitlines()
    tolerances = ", ".join(f"{str(t).split('.')[1]} {row:g}/{element:g}" for t, (row, element) in TOLERANCE.items())
    return [
        f"ladder on {torch.cuda.get_device_name(0)}, {datetime.datetime.now(datetime.UTC):%Y-%m-%d}",
        f"driver {driver[0] if driver else '?'}, {compiler[3] if len(compiler) > 3 else 'nvcc: ?'}; "
        f"{output_of(str(options.mlpc), '--version')}",
        f"torch {torch.__version__} (CUDA {torch.version.cuda}, cuBLAS {version_of('nvidia-cublas')}), "
        f"nvmath-python {version_of('nvmath-python')}",
        f"method: {options.rounds} rounds, contenders in turn, the order moves; medians of rounds; "
        f"{1e3 * options.pause:g} ms pause before each; random data, weights warm",
        f"tolerance, relative to float64, of a row/an element: {tolerances}",
        "floor: the larger of operations over 770 TFLOP/s (f32: 67) and bytes over 4.5 TB/s (weights that fit the L2: "
        "7.5 TB/s); 'launch' below 1 us",
    ]


def contender_names(options):
    names = [name for name in report.CONTENDERS if not getattr(options, f"no_{name}", False)]
    if "nvmath" in names:
        try:
            import nvmath.linalg.advanced   # noqa: F401
        except Exception as error:          # also a library that it does not find
            say(f"nvmath is left out: {first_line(error)}")
            names.remove("nvmath")
    return names


class Results:
    """What is kept, and written anew after each point, so that a run that ends early leaves something."""

    def __init__(self, folder, head):
        self.folder, self.head = folder, head
        self.details, self.points = [], []
        folder.mkdir(parents=True, exist_ok=True)

    def write(self):
        report.write_csv(self.folder / "ladder.csv", self.points)
        report.write_text(self.folder / "ladder.txt", self.head, self.details, self.points)

    def finish(self):
        say(report.write_plot(self.folder / "ladder.png", self.head, self.points) or "plot is drawn")
        print("\n".join([*self.head, *report.tables(self.points)]))


def write_weights(options, network):
    folder = options.work / network.name
    folder.mkdir(parents=True, exist_ok=True)
    write_safetensors(folder / "weights.safetensors", random_weights(network, "cuda"))


def run(options, networks):
    torch.backends.cuda.matmul.allow_tf32 = False
    names, results = contender_names(options), Results(options.results, head_of(options))
    for network in networks:
        write_weights(options, network)
    say("weights are written")
    builds, complaints = build_all(options, networks)
    say("networks are built")
    launches = Launches(str(options.work / "launches.so"))
    for network in networks:
        session = Session(options, network, builds, complaints, launches)
        results.details += session.details
        measure_network(session, names, results)
        session.close()
        torch.cuda.empty_cache()
    results.finish()
    return results.points


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME,...", help="these networks")
    parser.add_argument("--results", type=Path, default=HERE / "results", help="folder of ladder.txt, .csv, .png")
    parser.add_argument("--no-compile", dest="no_compiled", action="store_true", help="without torch.compile")
    parser.add_argument("--no-nvmath", action="store_true", help="without nvmath-python")
    parser.add_argument("--compile-seconds", type=float, default=60, help="how long torch.compile may tune in all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pause", type=float, default=0.02, help="seconds before each measurement")
    parser.add_argument("--quick", action="store_true", help="two rounds, torch.compile does not tune")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="builds at a time")
    parser.add_argument("--verbose", action="store_true", help="tracebacks of contenders that fail")
    parser.add_argument("--work", type=Path, required=True, help="folder that gpu.sh prepared")
    parser.add_argument("--exchange", type=Path, required=True, help="folder for rows on their way to mlpc and back")
    parser.add_argument("--mlpc", type=Path, required=True)
    parser.add_argument("--ladder", type=Path, required=True, help="folder of the specs")
    parser.add_argument("--cuda", type=Path, required=True, help="the CUDA Toolkit")
    options = parser.parse_args(arguments)
    if options.quick:
        options.rounds, options.compile_seconds = 2, 0
    chosen = options.only.split(",") if options.only else LADDER
    unknown = [name for name in chosen if name not in LADDER]
    if unknown:
        parser.error(f"no such network: {', '.join(unknown)}; there are {', '.join(LADDER)}")
    return options, chosen


def main():
    options, chosen = parse(sys.argv[1:])
    if not torch.cuda.is_available():
        sys.exit("bench.py: PyTorch finds no GPU")
    networks = [read(options.ladder / f"{name}.mlp") for name in chosen]
    with torch.inference_mode():
        points = run(options, networks)
    lacking = [f"{p.network} {p.rows}" for p in points if not p.seconds(report.OURS, "latency")]
    sys.exit(f"bench.py: mlpc has no figures at {', '.join(lacking)}" if lacking else 0)


if __name__ == "__main__":
    main()
