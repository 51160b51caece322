"""Draws growth.py's curves from standard input into a folder; other tools in broken lines."""
import json
import pathlib
import sys

import matplotlib

matplotlib.use("agg")
matplotlib.rcParams["svg.hashsalt"] = "growth"
from matplotlib import pyplot

result, folder = json.load(sys.stdin), pathlib.Path(sys.argv[1])
figure, axes = pyplot.subplots(2, 3, figsize=(16, 10), layout="constrained")
for axis, curve in zip(axes.flat, result["curves"].values()):
    for name, points in curve["lines"].items():
        is_peer = any(peer in name for peer in ("shell", "dbmate", "Python"))
        axis.plot(
            [point[0] for point in points], [point[1] for point in points],
            marker="o", markersize=4, linestyle="--" if is_peer else "-", label=name,
        )
    axis.set(xscale="log", yscale="log", title=curve["title"], xlabel=curve["unit"], ylabel="seconds")
    axis.grid(True, alpha=0.3)
    axis.legend(fontsize=8)
for axis in axes.flat[len(result["curves"]):]:
    axis.remove()
for kind in ("svg", "png"):
    figure.savefig(folder / f"growth.{kind}", dpi=80, metadata={"Date": None} if kind == "svg" else None)
