"""What a run on a CPU measured: every number as CSV, tables in Markdown, and a plot."""

import csv
import math
from statistics import median

from report import microseconds, quotient, summary

CONTENDERS = ("mlpc", "onnxruntime", "eager", "compiled", "openblas rows", "openblas columns", "floor")
# Columns of the tables; of several forms the one with the least median counts.
COLUMNS = {"mlpc": ("mlpc",), "ONNX Runtime": ("onnxruntime",), "PyTorch eager": ("eager",),
           "torch.compile": ("compiled",), "OpenBLAS": ("openblas rows", "openblas columns"), "floor": ("floor",)}
PEERS = ("ONNX Runtime", "PyTorch eager", "torch.compile", "OpenBLAS")


class Point:
    """A network at one number of rows and threads."""

    def __init__(self, network, rows, threads):
        self.network, self.rows, self.threads = network, rows, threads
        self.bursts = {}                # contender: seconds of each
        self.errors = {}                # contender: largest of a row and of an element
        self.failures = {}              # contender: why it was not timed

    @property
    def label(self):
        return f"{self.network} {self.rows}" + (f", {self.threads} threads" if self.threads > 1 else "")

    def add(self, contender, seconds):
        if seconds:
            self.bursts.setdefault(contender, []).append(seconds)

    def least(self, contender):
        return min(self.bursts[contender]) if contender in self.bursts else None

    def median(self, contender):
        return median(self.bursts[contender]) if contender in self.bursts else None

    def figure(self, contender, figure):
        return {"least": self.least, "median": self.median}[figure](contender)

    def form(self, column):
        """The contender that counts for a column, or None."""
        return min((c for c in COLUMNS[column] if c in self.bursts), key=self.median, default=None)

    def best_peer(self, figure):
        """(seconds, column) of the fastest peer, or None."""
        times = [(self.figure(self.form(column), figure), column) for column in PEERS if self.form(column)]
        return min(times, default=None)

    def ratio(self, figure):
        """The best peer's time over mlpc's, or None."""
        ours, best = self.figure("mlpc", figure), self.best_peer(figure)
        return best[0] / ours if ours and best else None


# ---- CSV ----

def write_csv(path, points, starts):
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["figure", "network", "rows", "threads", "contender", "samples", "least_us", "median_us"])
        for figure, measured in (("run", points), ("start", starts)):
            for point in measured:
                for contender, bursts in point.bursts.items():
                    numbers = (f"{1e6 * seconds:.3f}" for seconds in (min(bursts), median(bursts)))
                    out.writerow([figure, point.network, point.rows, point.threads, contender, len(bursts), *numbers])


# ---- Text ----

def cell(point, contender):
    if contender not in point.bursts:
        return "-"
    return f"{microseconds(point.least(contender))} / {microseconds(point.median(contender))}"


def ratio_cell(point, figure):
    return f"{quotient(point.ratio(figure))} {point.best_peer(figure)[1]}" if point.ratio(figure) else "-"


def row_of(point):
    ours, floor = point.least("mlpc"), point.least("floor")
    return [f"{point.network} {point.rows}", *(cell(point, point.form(column)) for column in COLUMNS),
            f"{100 * floor / ours:.0f} %" if ours and floor else "-",
            ratio_cell(point, "least"), ratio_cell(point, "median")]


def markdown(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def table(points, threads):
    chosen = [point for point in points if point.threads == threads]
    yield f"\n## {threads} thread{'s' if threads > 1 else ''}"
    if not any("mlpc" in point.bursts for point in chosen):
        yield f"mlpc: {chosen[0].failures.get('mlpc', 'not measured')}.\n"
    yield from markdown(["network, rows", *COLUMNS, "floor / mlpc", "best peer / mlpc, least", "median"],
                        map(row_of, chosen))
    for figure in ("least", "median"):
        yield f"\n{figure}: {summary(chosen, figure)}"


def start_table(starts):
    yield "\n## From start to first result"
    yield ("A process that reads one row, computes it, writes the result and ends: mlpc's program, with the weights in "
           "it; a C program with ONNX Runtime's library, which leaves without taking anything down. Files are in the "
           "page cache; milliseconds, least / median of as many starts, in turn.\n")
    rows = []
    for point in starts:
        times = [f"{1e3 * point.least(c):.2f} / {1e3 * point.median(c):.2f}" for c in ("mlpc", "onnxruntime")]
        rows.append([point.network, *times, f"{point.median('onnxruntime') / point.median('mlpc'):.1f}",
                     f"{point.size / 1e6:.2f} MB", str(len(point.bursts["mlpc"]))])
    yield from markdown(["network", "mlpc", "ONNX Runtime", "ratio of medians", "mlpc's program", "starts"], rows)


def notes(points):
    yield "\n## Largest errors"
    for contender in CONTENDERS:
        errors = [point.errors[contender] for point in points if contender in point.errors]
        if errors:
            row, element = map(max, zip(*errors))
            yield f"- {contender}: {row:.1e} of a row, {element:.1e} of an element, at {len(errors)} points"
    failures = [f"- {point.label}, {contender}: {' '.join(why.split())}" for point in points
                for contender, why in point.failures.items()]
    if failures:
        yield from ("\n## Not measured", *failures)


def text(head, points, starts):
    yield "# The CPU target beside other tools\n"
    yield from (f"{line}  " for line in head)
    yield ("\nOpenBLAS: the faster of two layouts of the weights. floor: for one row loading the weights, else the "
           "multiply-adds in registers.")
    for threads in sorted({point.threads for point in points}):
        yield from table(points, threads)
    if starts:
        yield from start_table(starts)
    yield from notes(points)


def write_text(path, head, points, starts):
    path.write_text("\n".join(text(head, points, starts)) + "\n")


# ---- Plot ----

STYLES = {"mlpc": ("o", "tab:red"), "ONNX Runtime": ("D", "tab:orange"), "PyTorch eager": ("s", "tab:blue"),
          "torch.compile": ("^", "tab:green"), "OpenBLAS": ("v", "tab:purple"), "floor": ("_", "black")}


def draw(axis, points):
    for column, (marker, colour) in STYLES.items():
        times = [point.median(point.form(column)) if point.form(column) else math.nan for point in points]
        axis.plot(range(len(points)), [1e6 * time for time in times], marker=marker, color=colour, linestyle="none",
                  markersize=11 if marker == "_" else 5, label=column, alpha=0.85)
    axis.set_yscale("log")
    axis.set_xticks(range(len(points)), [f"{p.network} {p.rows}" for p in points], rotation=60, ha="right")
    axis.set_ylabel(f"{points[0].threads} thread{'s' if points[0].threads > 1 else ''}: microseconds a run, median")
    axis.grid(True, which="major", alpha=0.3)


def write_plot(path, head, points):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    counts = sorted({point.threads for point in points})
    figure, axes = pyplot.subplots(len(counts), 1, figsize=(11, 6 * len(counts)), squeeze=False, layout="constrained")
    for axis, threads in zip(axes[:, 0], counts):
        draw(axis, [point for point in points if point.threads == threads])
    axes[0, 0].legend(ncols=6, loc="upper left")
    axes[0, 0].set_title("\n".join(head[:3]), fontsize=8, loc="left")
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
