"""Description of how a run was measured: paragraphs for its report, and a line of settings below each figure."""

from __future__ import annotations

from app.core.messages import Message
from app.lab.analysis.analyse import Analysis
from app.lab.report.statements import receivers


def method(analysis: Analysis) -> list[Message]:
    """Return paragraphs on load, order of trials, clocks, quantiles, CPU and statistics."""
    plan = analysis.run.plan
    margins = "loopback" if plan.environment == "loopback" else "lan"
    return [
        Message(
            "method.source",
            {
                "notifications": plan.notifications,
                "n": float(plan.rate_hz),
                "n1": plan.payload_bytes,
                "n2": plan.warmup_notifications,
                "who": _receivers(analysis),
            },
        ),
        Message(
            "method.blocks",
            {
                "blocks": plan.blocks,
                "ns": tuple(sorted(plan.client_counts)),
                "n": plan.seed,
                "n1": float(plan.idle_s),
            },
        ),
        Message("method.delay"),
        Message("method.quantiles"),
        Message("method.cpu"),
        Message("method.intervals", {"margins": Message(f"method.margins.{margins}")}),
    ]


def settings_line(analysis: Analysis) -> Message:
    """Return the run's settings in one line, so that a figure can be read outside its report."""
    plan = analysis.run.plan
    return Message(
        "settings.one" if plan.client_counts == (1,) else "settings.many",
        {
            "run": analysis.run.id,
            "who": receivers(analysis),
            "n2": 1,
            "ns": tuple(sorted(plan.client_counts)),
            "blocks": plan.blocks,
            "notifications": plan.notifications,
            "n": plan.payload_bytes,
            "n1": float(plan.rate_hz),
        },
    )


def _receivers(analysis: Analysis) -> Message:
    if analysis.phones:
        args = {"who": receivers(analysis), "environment": analysis.run.plan.environment}
        return Message("method.who.phones", args)
    return Message("method.who.built_in" if analysis.run.simulated else "method.who.real")
