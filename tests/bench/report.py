"""What a run measured: every number as CSV, a table in text, and a plot."""

import csv
import math
from statistics import median

FIGURES = ("steady", "single", "latency")
OURS, FIRST = "mlpc", "first choice"
PEERS = ("eager", "compiled", "nvmath")
SMALLEST = 1e-6                     # seconds: below such a floor, launches and barriers are what is left
CONTENDERS = (OURS, FIRST, *PEERS)

MEANING = {
    "steady": "device time of a run, many runs in one CUDA graph",
    "single": "one launch of a graph at a time, between device events",
    "latency": "host clock, from launch to finished; in brackets the 99th percentile",
}


def quantile(samples, part):
    """The smallest that a share of `part` of all does not exceed, or None."""
    return sorted(samples)[math.ceil(part * len(samples)) - 1] if samples else None


class Point:
    """A network at one number of rows."""

    def __init__(self, network, rows, floor):
        self.network, self.rows, self.floor = network, rows, floor
        self.rounds = {}                # (contender, figure): for each round a list of samples, in seconds
        self.notes = {}                 # contender: form, accuracy; or why it was not timed

    def add(self, contender, figure, samples):
        self.rounds.setdefault((contender, figure), []).append(samples)

    def seconds(self, contender, figure):
        """The median of the rounds' medians, or None."""
        rounds = self.rounds.get((contender, figure))
        return median(median(samples) for samples in rounds) if rounds else None

    def percentile(self, contender, figure, part):
        """Of all samples of all rounds."""
        return quantile([s for samples in self.rounds.get((contender, figure), []) for s in samples], part)

    def drop(self, contender, why):
        """Forgets what was measured of a contender that failed on the way."""
        for figure in FIGURES:
            self.rounds.pop((contender, figure), None)
        self.notes[contender] = why

    def ratio(self, figure):
        """The best peer's time over ours, or None."""
        ours = self.seconds(OURS, figure)
        peers = [s for s in (self.seconds(peer, figure) for peer in PEERS) if s]
        return min(peers) / ours if ours and peers else None

    def gain(self, figure):
        """The time with the first choices over ours, or None."""
        ours, first = self.seconds(OURS, figure), self.seconds(FIRST, figure)
        return first / ours if ours and first else None


# ---- CSV ----

def write_csv(path, points):
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["network", "rows", "contender", "figure", "round", "samples", "least_us", "median_us", "p99_us"])
        for point in points:
            for (contender, figure), rounds in point.rounds.items():
                for i, samples in enumerate(rounds):
                    numbers = (min(samples), median(samples), quantile(samples, 0.99))
                    out.writerow([point.network, point.rows, contender, figure, i, len(samples),
                                  *(f"{1e6 * seconds:.3f}" for seconds in numbers)])


# ---- Text ----

def microseconds(seconds):
    if seconds is None:
        return "-"
    us = 1e6 * seconds
    return f"{us:.2f}" if us < 10 else f"{us:.1f}" if us < 1000 else f"{us:.0f}"


def cell(point, contender, figure):
    text = microseconds(point.seconds(contender, figure))
    if figure == "latency" and text != "-":
        text += f" ({microseconds(point.percentile(contender, figure, 0.99))})"
    return text


def quotient(value):
    return f"{value:.2f}" if value else "-"


def line(point, figure):
    floor = "launch" if point.floor < SMALLEST else microseconds(point.floor)
    return [point.network, str(point.rows), *(cell(point, contender, figure) for contender in CONTENDERS), floor,
            quotient(point.gain(figure)), quotient(point.ratio(figure))]


def aligned(lines):
    """The first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    for cells in lines:
        yield cells[0].ljust(widths[0]) + "".join("  " + c.rjust(w) for c, w in zip(cells[1:], widths[1:]))


def summary(points, figure):
    ratios = [(point.ratio(figure), f"{point.network} {point.rows}") for point in points if point.ratio(figure)]
    if not ratios:
        return "no ratio: mlpc or all peers are missing"
    mean = math.exp(sum(math.log(ratio) for ratio, _ in ratios) / len(ratios))
    faster = sum(ratio >= 1 for ratio, _ in ratios)
    least, where = min(ratios)
    return (f"ratio: geometric mean {mean:.2f} of {len(ratios)} points; at least 1 at {faster} of them; "
            f"least {least:.2f} ({where})")


def tables(points):
    for figure in FIGURES:
        yield (f"\n{figure}: {MEANING[figure]}; microseconds\n"
               f"gain: first choice over mlpc; ratio: best of {', '.join(PEERS)} over mlpc\n")
        yield from aligned([["network", "rows", *CONTENDERS, "floor", "gain", "ratio"]] +
                           [line(point, figure) for point in points])
        yield summary(points, figure)


def text(head, details, points):
    yield from head
    yield from tables(points)
    yield "\nmlpc's networks\n"
    yield from details
    yield "\nform and largest errors of each contender, or why it was not timed\n"
    for point in points:
        for contender, note in point.notes.items():
            yield f"{point.network + ' ' + str(point.rows):18} {contender:13} {' '.join(note.split())}"


def write_text(path, head, details, points):
    path.write_text("\n".join(row.rstrip() for row in text(head, details, points)) + "\n")


# ---- Plot ----

STYLES = {OURS: ("o", "tab:red"), FIRST: ("x", "tab:pink"), "eager": ("s", "tab:blue"), "compiled": ("^", "tab:green"),
          "nvmath": ("D", "tab:orange")}


def draw(axis, points, figure):
    for contender in CONTENDERS:
        times = [point.seconds(contender, figure) for point in points]
        marker, colour = STYLES[contender]
        if any(times):
            axis.plot(range(len(points)), [1e6 * t if t else math.nan for t in times], marker=marker, color=colour,
                      linestyle="none", markersize=5, label=contender, alpha=0.85)
    axis.plot(range(len(points)), [1e6 * p.floor if p.floor >= SMALLEST else math.nan for p in points], marker="_",
              color="black", linestyle="none", markersize=11, label="floor")
    axis.set_yscale("log")
    axis.set_ylabel(f"{figure}, microseconds")
    axis.grid(True, which="major", alpha=0.3)


def write_plot(path, head, points):
    """Says why there is none, or None."""
    try:
        import matplotlib
    except ImportError:
        return "no plot: matplotlib is not there"
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(3, 1, figsize=(13, 16), sharex=True, layout="constrained")
    for axis, name in zip(axes, FIGURES):
        draw(axis, points, name)
    axes[0].legend(ncols=6, loc="upper left")
    axes[0].set_title("\n".join(head[:3]), fontsize=9, loc="left")
    axes[-1].set_xticks(range(len(points)), [f"{p.network} {p.rows}" for p in points], rotation=60, ha="right")
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return None
