"""Where panels lead: SpanJudge's page, and verdict spans in the trace back-end."""

from __future__ import annotations

import json
from urllib.parse import quote

from deploy.grafana.parts import Link


def sessions(panel_kind: str, *labels: str, **fixed: str) -> Link:
    """The page's list of sessions, with the filters of the thing that was clicked: the labels of a line of a graph, or
    the columns of a line of a table. `fixed` filters are the same for all."""
    given = [f"{name}={quote(value)}" for name, value in fixed.items()]
    clicked = [f"{_FILTERS.get(name, name)}={_clicked(panel_kind, name)}" for name in labels]
    return Link("Sessions on SpanJudge's page", f"${{page}}/sessions?{'&'.join((*given, *clicked))}")


def verdict_spans(panel_kind: str, *labels: str, **fixed: str) -> Link:
    """A search in Tempo for the verdict spans themselves; each is in the trace that it judges."""
    conditions = [f'{_ATTRIBUTES[name]} = "{value}"' for name, value in fixed.items()]
    conditions += [f'{_ATTRIBUTES[name]} = "{_clicked(panel_kind, name)}"' for name in labels]
    query = {
        "datasource": {"type": "tempo", "uid": "${traces}"},
        "query": f"{{ {' && '.join(conditions)} }}",
        "queryType": "traceql",
        "refId": "A",
    }
    times = {"from": "${__from}", "to": "${__to}"}
    pane = {"a": {"datasource": "${traces}", "queries": [query], "range": times}}
    return Link("Verdict spans in the trace back-end", f"/explore?schemaVersion=1&panes={_quoted(pane)}&orgId=1")


_FILTERS = {"agent_version": "version"}
"""What the page calls it, where that is not the label's name."""
_ATTRIBUTES = {
    "evaluator": "span.gen_ai.evaluation.name",
    "label": "span.gen_ai.evaluation.score.label",
}


def _clicked(panel_kind: str, label: str) -> str:
    found = f"__data.fields.{label}" if panel_kind == "table" else f"__field.labels.{label}"
    return f"${{{found}:percentencode}}"


def _quoted(value: object) -> str:
    """As a part of an address; what Grafana is to fill in stays as it is."""
    text = json.dumps(value, separators=(",", ":"))
    found, rest = "", text
    while "${" in rest:
        before, _, rest = rest.partition("${")
        name, _, rest = rest.partition("}")
        found += f"{quote(before, safe='')}${{{name}}}"
    return found + quote(rest, safe="")
