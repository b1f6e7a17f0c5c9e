"""Draws a dashboard as SVG: panels at their positions, lines over time, bars and numbers for current values."""

import html
import re
import time

COLUMN, ROW, MARGIN = 60, 30, 6  # pixels of Grafana's grid
COLORS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22",
           "#17becf")


def text(x, y, words, size=11, color="#222", anchor="start", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{color}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{html.escape(str(words))}</text>')


def number(value, unit, decimals=None):
    """Returns the value with its unit, similar to Grafana."""
    if decimals is not None:
        return f"{value:.{decimals}f}"
    if unit == "percentunit":
        return f"{100 * value:.3g}%"
    if unit in ("bytes", "Bps"):
        for prefix in ("", "Ki", "Mi", "Gi"):
            if abs(value) < 1024 or prefix == "Gi":
                return f"{value:.3g} {prefix}B" + ("/s" if unit == "Bps" else "")
            value /= 1024
    if unit == "s":
        for limit, factor, name in ((1e-3, 1e6, "us"), (1, 1e3, "ms"), (120, 1, "s"), (7200, 1 / 60, "min"),
                                    (172800, 1 / 3600, "h")):
            if abs(value) < limit:
                return f"{value * factor:.3g} {name}"
        return f"{value / 86400:.3g} d"
    suffix = {"reqps": "/s", "ops": "/s"}.get(unit, "")
    return f"{value:,.0f}{suffix}" if abs(value) >= 1000 else f"{value:.4g}{suffix}"


def legend(template, labels):
    return re.sub(r"\{\{(\w+)\}\}", lambda match: labels.get(match.group(1), ""), template).strip()


def picture_of(dashboard, series_of, seconds):
    """Returns the SVG. `series_of(query)` returns [(labels, [(time, value)])]."""
    height = max(y + h for _, y, _, h in (panel.place for panel in dashboard.panels)) * ROW + 40
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{24 * COLUMN}" height="{height}" '
             f'font-family="DejaVu Sans, sans-serif"><rect width="100%" height="100%" fill="#eef0f3"/>',
             text(10, 24, dashboard.title, 16, weight="bold")]
    parts += [text(10, y * ROW + 40 + 20, title, 13, weight="bold") for title, y in dashboard.rows]
    for panel in dashboard.panels:
        series = [(legend(query.legend, labels), values) for query in panel.queries
                  for labels, values in series_of(query)]
        parts += panel_at(panel, sorted(series, key=lambda one: one[0]), seconds)
    return "\n".join([*parts, "</svg>\n"])


def panel_at(panel, series, seconds):
    x, y, w, h = panel.place
    left, top, width, height = x * COLUMN + MARGIN, y * ROW + 40 + MARGIN, w * COLUMN - 2 * MARGIN, h * ROW - 2 * MARGIN
    parts = [f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="white" stroke="#ccd"/>',
             text(left + 8, top + 16, panel.title, 12, weight="bold")]
    if not series:
        return [*parts, text(left + width / 2, top + height / 2 + 8, "No data", 12, "#999", "middle")]
    box = (left + 10, top + 24, width - 20, height - 30)
    if panel.kind == "timeseries":
        return parts + lines(panel, series, box, seconds)
    if panel.kind in ("bargauge", "gauge"):
        return parts + bars(panel, series, box)
    return parts + numbers(panel, series, box)


def lines(panel, series, box, seconds):
    left, top, width, height = box
    left, width, height = left + 56, width - 60, height - 16 - 14 * ((min(len(series), 6) + 1) // 2)
    if panel.stacked:
        series = stacked(series)
    values = [value for _, points in series for _, value in points]
    low, high = min(0, min(values)), max(max(values), 0)
    high = high if high > low else low + 1
    end = time.time()

    def at(point):
        return (f"{left + width * (1 - (end - point[0]) / seconds):.1f},"
                f"{top + height * (1 - (point[1] - low) / (high - low)):.1f}")
    parts = []
    for share in (0, 0.5, 1):
        level = top + height * (1 - share)
        parts += [f'<line x1="{left}" x2="{left + width}" y1="{level:.1f}" y2="{level:.1f}" stroke="#e4e6ea"/>',
                  text(left - 4, level + 4, number(low + share * (high - low), panel.unit), 9, "#666", "end")]
    for i, (name, points) in enumerate(series):
        color = COLORS[i % len(COLORS)]
        if len(points) == 1:
            x, y = at(points[0]).split(",")
            parts.append(f'<circle cx="{x}" cy="{y}" r="2" fill="{color}"/>')
        path = " ".join(map(at, points))
        parts.append(f'<polyline fill="none" stroke="{color}" stroke-width="1.5" points="{path}"/>')
        if i < 6:
            x, y = left + (i % 2) * width / 2, top + height + 16 + 14 * (i // 2)
            parts += [f'<rect x="{x:.1f}" y="{y - 8:.1f}" width="10" height="8" fill="{color}"/>',
                      text(x + 14, y, name[:int(width / 12)], 9)]
    return parts


def stacked(series):
    """Returns the series, each stacked on the ones before it."""
    below, piled = {}, []
    for name, points in series:
        points = [(at, value + below.get(at, 0)) for at, value in points]
        below.update(points)
        piled.append((name, points))
    return piled


def bars(panel, series, box):
    left, top, width, height = box
    step = min(28, height / len(series))
    most = 1 if panel.unit == "percentunit" else max(points[-1][1] for _, points in series) or 1
    parts = []
    for i, (name, points) in enumerate(series):
        value, y = points[-1][1], top + i * step
        parts += [f'<rect x="{left}" y="{y + step * 0.45:.1f}" width="{max(1, width * 0.8 * value / most):.1f}" '
                  f'height="{step * 0.4:.1f}" fill="{COLORS[i % len(COLORS)]}"/>',
                  text(left, y + step * 0.35, name, 9),
                  text(left + width, y + step * 0.8, number(value, panel.unit), 10, anchor="end")]
    return parts


def numbers(panel, series, box):
    left, top, width, height = box
    rows = 1 if len(series) <= 3 else 2
    across = -(-len(series) // rows)
    parts = []
    if panel.kind == "table":
        return [text(left, top + 16 + 15 * i, name, 11) for i, (name, _) in enumerate(series[:int(height / 15)])]
    for i, (name, points) in enumerate(series):
        x = left + width * (i % across + 0.5) / across
        y = top + height * (i // across + 0.6) / rows
        words = number(points[-1][1], panel.unit, panel.decimals)
        parts += [text(x, y, words, 18 if rows == 1 else 13, COLORS[0], "middle"),
                  text(x, y + 14, name, 9, "#555", "middle")]
    return parts
