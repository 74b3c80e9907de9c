"""A report's figure of the server's CPU time per delivery."""

from __future__ import annotations

from app.core.messages import Message
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.words import arm_title
from app.lab.report.document import Drawing, Figure, Table, headings_of
from app.lab.report.figures.series import against_clients, measured_lines, series_of_arms

TITLE = Message("figure.cpu")


def cpu_figure(analysis: Analysis) -> Figure:
    """Return the figure of server CPU by count of clients: per delivery in us, and in points of the whole machine."""
    legend, planned = series_of_arms(analysis), analysis.client_counts
    per_delivery = measured_lines(analysis, lambda row: row.cpu_per_delivery_us)
    of_machine = measured_lines(analysis, lambda row: row.delta_points)
    unit, points = Message("drawing.cpu_us"), Message("drawing.of_machine")
    return Figure(
        TITLE,
        Message("caption.cpu_by_count"),
        (
            Drawing(unit, against_clients("cost", TITLE, unit, per_delivery, legend, planned=planned)),
            Drawing(points, against_clients("load", points, points, of_machine, legend, planned=planned)),
        ),
        Table(
            headings_of("transport", "clients", "cpu_us_per_delivery", "cpu_points", "cpu_percent_points"),
            [
                (
                    *(arm_title(row.arm), row.clients),
                    *(row.cpu_per_delivery_us, row.delta_points, row.cpu_percent_points),
                )
                for row in analysis.summary
            ],
        ),
    )
