"""What is drawn, where it is drawn."""

from dataclasses import replace

from matplotlib.backends.backend_agg import FigureCanvasAgg

from analysis.findings.findings import Findings
from analysis.report.figures.ratios import draw_rows, limits
from analysis.report.figures.style import Theme, bare, canvas


def test_words_stay_off_the_data(findings: Findings) -> None:
    rows = [row for row in findings.comparisons if row.estimate.ratio is not None]
    wide = replace(rows[0].estimate, ratio_low=1e-6, ratio_high=1e6)
    rows[0] = replace(rows[0], estimate=wide)  # an arrowhead on both sides
    with canvas(4) as drawn:
        renderer = FigureCanvasAgg(drawn).get_renderer()
        axes = drawn.add_subplot()
        limits(axes, rows, 0.03)
        draw_rows(axes, rows, Theme.of(findings.availability))
        bare(axes, "x")
        drawn.canvas.draw()
        box = axes.get_window_extent(renderer)
        labels = [text.get_window_extent(renderer) for text in axes.get_yticklabels()]
        verdicts = [text.get_window_extent(renderer) for text in axes.texts]
        assert len(verdicts) == len(rows) and len(labels) == len(rows) + 2
        half = 3 * drawn.dpi / 72  # of an arrowhead
        assert all(one.x0 >= 0 and one.x1 < box.x0 - half for one in labels)
        assert all(box.x1 + half < one.x0 and one.x1 <= drawn.bbox.x1 for one in verdicts)
        assert box.width > drawn.bbox.width / 3
