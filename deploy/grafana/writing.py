"""Dashboards as Grafana wants them written: dashboard schema 39, of Grafana 11 and later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any, TypeAlias

from deploy.grafana.parts import Dashboard, Kind, Mark, Panel, Query, Row, Variable

Json: TypeAlias = dict[str, Any]

SCHEMA_VERSION = 39
TAG = "spanjudge"
DATASOURCE: Mapping[str, str] = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH = 24


def dashboard_json(dashboard: Dashboard) -> Json:
    return {
        "annotations": {"list": [_GRAFANAS_OWN, *(_mark(mark) for mark in dashboard.marks)]},
        "description": dashboard.description,
        "editable": False,
        "fiscalYearStartMonth": 0,
        "graphTooltip": 1,
        "links": [_OTHER_DASHBOARDS],
        "panels": _laid_out(dashboard.rows),
        "refresh": "30s",
        "schemaVersion": SCHEMA_VERSION,
        "tags": [TAG],
        "templating": {"list": [*_FIRST_CHOICES, *(_choice(one) for one in dashboard.variables), *_LAST_CHOICES]},
        "time": {"from": dashboard.since, "to": "now"},
        "timepicker": {},
        "timezone": "browser",
        "title": dashboard.title,
        "uid": dashboard.uid,
        "version": 1,
    }


def _laid_out(rows: Sequence[Row]) -> list[Json]:
    """Panels from left to right, each row of them below a heading. Ids count from 1 in reading order."""
    found: list[Json] = []
    number, y = 1, 0
    for row in rows:
        heading = {"collapsed": row.folded, "gridPos": _at(0, y, _WIDTH, 1), "id": number, "panels": []}
        heading |= {"title": row.title, "type": "row"}
        number, y = number + 1, y + 1
        inside, x, tallest = [], 0, 0
        for panel in row.panels:
            if x + panel.width > _WIDTH:
                x, y, tallest = 0, y + tallest, 0
            inside.append(_panel(panel, number, _at(x, y, panel.width, panel.height)))
            number, x, tallest = number + 1, x + panel.width, max(tallest, panel.height)
        y += tallest
        found += [heading | {"panels": inside}] if row.folded else [heading, *inside]
    return found


def _at(x: int, y: int, width: int, height: int) -> Json:
    return {"h": height, "w": width, "x": x, "y": y}


def _panel(panel: Panel, number: int, at: Json) -> Json:
    found: Json = {
        "datasource": dict(DATASOURCE),
        "description": panel.description,
        "fieldConfig": {"defaults": _defaults(panel), "overrides": _overrides(panel)},
        "gridPos": at,
        "id": number,
        "options": _OPTIONS[panel.kind],
        "targets": [_target(panel, query, ref) for query, ref in zip(panel.queries, ascii_uppercase, strict=False)],
        "title": panel.title,
        "type": panel.kind,
    }
    return found | ({"transformations": _one_table(panel)} if panel.kind == "table" else {})


def _target(panel: Panel, query: Query, ref: str) -> Json:
    instant = panel.kind in ("stat", "table")
    formats = {"table": "table", "heatmap": "heatmap"}
    return {
        "datasource": dict(DATASOURCE),
        "editorMode": "code",
        "exemplar": query.exemplars,
        "expr": query.expr,
        "format": formats.get(panel.kind, "time_series"),
        "instant": instant,
        "legendFormat": query.legend or "__auto",
        "range": not instant,
        "refId": ref,
    }


def _defaults(panel: Panel) -> Json:
    found: Json = {"noValue": panel.no_value, "unit": panel.unit}
    steps = [{"color": color, "value": value} for value, color in panel.thresholds] or [
        {"color": "text", "value": None}
    ]
    found["thresholds"] = {"mode": "absolute", "steps": steps}
    by_threshold = panel.kind == "stat"
    found["color"] = {"mode": "thresholds" if by_threshold else "palette-classic"}
    if panel.kind == "timeseries":
        found["custom"] = _lines(panel)
        found |= {"min": panel.least} if panel.least is not None else {}
        found |= {"max": panel.most} if panel.most is not None else {}
    if panel.decimals is not None:
        found["decimals"] = panel.decimals
    if panel.links:
        found["links"] = [{"targetBlank": True, "title": link.title, "url": link.url} for link in panel.links]
    return found


def _lines(panel: Panel) -> Json:
    return {
        "drawStyle": "line",
        "fillOpacity": 30 if panel.stacked else 0,
        "lineWidth": 1 if panel.stacked else 2,
        "showPoints": "auto",
        "spanNulls": False,
        "stacking": {"group": "A", "mode": "normal" if panel.stacked else "none"},
        "thresholdsStyle": {"mode": "dashed" if panel.thresholds else "off"},
    }


def _overrides(panel: Panel) -> list[Json]:
    found: list[Json] = []
    for query, ref in zip(panel.queries, ascii_uppercase, strict=False):
        if query.dashed:
            dash = {"id": "custom.lineStyle", "value": {"dash": [6, 6], "fill": "dash"}}
            found.append(_override("byFrameRefID", ref, dash, {"id": "custom.lineWidth", "value": 1}))
        if panel.kind == "table" and query.unit:
            found.append(_override("byName", query.name, {"id": "unit", "value": query.unit}))
    return found


def _override(matcher: str, options: str, *properties: Json) -> Json:
    return {"matcher": {"id": matcher, "options": options}, "properties": list(properties)}


def _one_table(panel: Panel) -> list[Json]:
    """Side by side, by labels. Grafana calls the only query's column `Value`, those of several `Value #A` and so on."""
    several = len(panel.queries) > 1
    names = {
        f"Value #{ref}" if several else "Value": query.name
        for query, ref in zip(panel.queries, ascii_uppercase, strict=False)
    }
    organized = {"excludeByName": {"Time": True}, "indexByName": {}, "renameByName": names}
    return [{"id": "merge", "options": {}}, {"id": "organize", "options": organized}]


def _choice(variable: Variable) -> Json:
    query = f"label_values({variable.metric}, {variable.name})"
    return {
        "allValue": ".*" if variable.any_value else None,
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
        "datasource": dict(DATASOURCE),
        "definition": query,
        "description": variable.description,
        "hide": 0,
        "includeAll": True,
        "label": variable.label,
        "multi": True,
        "name": variable.name,
        "options": [],
        "query": {"qryType": 1, "query": query, "refId": f"variable-{variable.name}"},
        "refresh": 2,
        "regex": "",
        "skipUrlSync": False,
        "sort": 1,
        "type": "query",
    }


def _mark(mark: Mark) -> Json:
    return {
        "datasource": dict(DATASOURCE),
        "enable": True,
        "expr": mark.expr,
        "hide": False,
        "iconColor": mark.color,
        "name": mark.name,
        "step": "60s",
        "tagKeys": "",
        "textFormat": mark.text,
        "titleFormat": mark.title,
        "useValueForTime": "on" if mark.at_value else False,
    }


_GRAFANAS_OWN: Json = {
    "builtIn": 1,
    "datasource": {"type": "grafana", "uid": "-- Grafana --"},
    "enable": True,
    "hide": True,
    "iconColor": "blue",
    "name": "Annotations & Alerts",
    "type": "dashboard",
}

_OTHER_DASHBOARDS: Json = {
    "asDropdown": False,
    "icon": "external link",
    "includeVars": True,
    "keepTime": True,
    "tags": [TAG],
    "targetBlank": False,
    "title": "SpanJudge",
    "tooltip": "the other dashboards, for the same time and choices",
    "type": "dashboards",
    "url": "",
}


def _source(name: str, label: str, kind: str, description: str) -> Json:
    return {
        "current": {},
        "description": description,
        "hide": 0,
        "includeAll": False,
        "label": label,
        "multi": False,
        "name": name,
        "options": [],
        "query": kind,
        "refresh": 1,
        "regex": "",
        "skipUrlSync": False,
        "type": "datasource",
    }


_FIRST_CHOICES: Sequence[Json] = (
    _source("datasource", "Prometheus", "prometheus", "the Prometheus that scrapes SpanJudge"),
    _source("traces", "Traces", "tempo", "the Tempo that verdict spans are sent to; for links only"),
)
_WINDOWS = ("15m", "1h", "6h", "1d", "7d")
_PAGE_URL = "http://127.0.0.1:9464"
_LAST_CHOICES: Sequence[Json] = (
    {
        "auto": False,
        "current": {"selected": True, "text": "1h", "value": "1h"},
        "description": "how far back each point of a graph looks that says so; more is calmer at low traffic",
        "hide": 0,
        "label": "Window",
        "name": "window",
        "options": [{"selected": size == "1h", "text": size, "value": size} for size in _WINDOWS],
        "query": ",".join(_WINDOWS),
        "refresh": 2,
        "skipUrlSync": False,
        "type": "interval",
    },
    {
        "current": {"selected": True, "text": _PAGE_URL, "value": _PAGE_URL},
        "description": "where people reach SpanJudge's page, without a slash at the end; links lead there",
        "hide": 0,
        "label": "Page",
        "name": "page",
        "options": [{"selected": True, "text": _PAGE_URL, "value": _PAGE_URL}],
        "query": _PAGE_URL,
        "skipUrlSync": False,
        "type": "textbox",
    },
)

_LEGEND: Json = {"calcs": ["lastNotNull", "max"], "displayMode": "table", "placement": "bottom", "showLegend": True}
_OPTIONS: Mapping[Kind, Json] = {
    "timeseries": {"legend": _LEGEND, "tooltip": {"mode": "multi", "sort": "desc"}},
    "stat": {
        "colorMode": "background",
        "graphMode": "none",
        "justifyMode": "auto",
        "orientation": "auto",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "textMode": "auto",
    },
    "table": {"cellHeight": "sm", "showHeader": True},
    "heatmap": {
        "calculate": False,
        "cellGap": 1,
        "color": {"exponent": 0.5, "fill": "blue", "mode": "scheme", "reverse": False, "scheme": "Blues", "steps": 32},
        "exemplars": {"color": "orange"},
        "filterValues": {"le": 1e-9},
        "legend": {"show": True},
        "rowsFrame": {"layout": "auto"},
        "tooltip": {"mode": "single", "showColorScale": False, "yHistogram": False},
        "yAxis": {"axisPlacement": "left", "reverse": False, "unit": "short"},
    },
}
