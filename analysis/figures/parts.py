"""Where the time goes: data, transfer and step."""

import pandas as pd
from matplotlib.patches import Patch

from analysis.figures.distributions import height
from analysis.figures.panels import grid, panels
from analysis.figures.style import INK, Figure, Look, bare, canvas, render
from analysis.study import PARTS
from analysis.tables import Findings
from analysis.words import three, title

COLOURS = {"data": "#999999", "transfer": "#E69F00", "step": "#56B4E9"}
HATCHES = {"data": "....", "transfer": "////", "step": ""}


def parts(findings: Findings, look: Look, name: str) -> Figure | None:
    found = panels(findings.measured)
    if not found:
        return None
    with canvas(height(found) + 0.4) as drawn:
        for axes, _, seats in grid(drawn, found):
            frame = pd.DataFrame(
                {
                    f"{title(seat.framework)} {seat.variant}": [
                        findings.measured[seat][f"{part}_ms"].mean() for part in PARTS
                    ]
                    for seat in seats
                },
                index=PARTS,
            ).T
            left = 0 * frame["step"]
            for part in PARTS:
                axes.barh(frame.index, frame[part], left=left, color=COLOURS[part], height=0.62,
                          hatch=HATCHES[part], edgecolor=INK, linewidth=0.5)  # fmt: skip
                left = left + frame[part]
            for place, (_, row) in enumerate(frame.iterrows()):
                axes.text(left.max() * 0.02, place, " + ".join(three(row[part]) for part in PARTS),
                          va="center", fontsize=8, color="#10151c")  # fmt: skip
            axes.invert_yaxis()
            axes.set_xlabel("ms per mini-batch")
            bare(axes, "x")
        handles = [
            Patch(facecolor=COLOURS[part], hatch=HATCHES[part], edgecolor=INK, linewidth=0.5,
                  label=part) for part in PARTS
        ]  # fmt: skip
        drawn.legend(handles=handles, loc="outside upper center", ncols=3)
        return render(
            drawn,
            name,
            "Where the time goes",
            "Parts of a steady-state mini-batch in milliseconds, data + transfer + step: the "
            "mean over replicates of each part's median. Data is the harness reading the memory "
            "map and is not part of the times compared.",
            "Stacked bars of milliseconds spent on data, transfer and step, one panel for each of "
            f"{', '.join(map(str, found))}. The numbers are in contenders.csv.",
        )
