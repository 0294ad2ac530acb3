"""Choices, marks and ways to choose verdicts that several rows or dashboards have."""

from __future__ import annotations

from deploy.grafana.parts import Mark, Variable
from deploy.grafana.promql import series

_BUILD = "spanjudge_build_info"
_CHOSEN = f'{_BUILD}{{job=~"$job"}}'
_VERDICTS = series("verdicts_total")

JOB = Variable("job", "Job", _BUILD, "the scrape job", any_value=False)
INSTANCE = Variable(
    "instance", "Instance", _CHOSEN, "one process of SpanJudge, as Prometheus scrapes it", any_value=False
)
SERVICE = Variable("service", "Service", _VERDICTS, "service.name of the agent; empty where none was recorded")
EVALUATOR = Variable("evaluator", "Evaluator", _VERDICTS, "one criterion; `composite` is the whole session")
SKILL = Variable("skill", "Skill", _VERDICTS, "the skill as it was asked for")
AGENT_VERSION = Variable(
    "agent_version", "Agent version", _VERDICTS, "the agent's version, or its service's where the agent has none"
)
MODEL = Variable("model", "Model", series("judge_requests_total"), "a model that judges")

OF_VERDICT = ('service=~"$service"', 'evaluator=~"$evaluator"', 'agent_version=~"$agent_version"')
OF_SKILL = ('service=~"$service"', 'skill=~"$skill"', 'agent_version=~"$agent_version"')
OF_SESSION = ('service=~"$service"', 'agent_version=~"$agent_version"')

SCORED = series("verdicts_total", *OF_VERDICT, 'label!~"not_judged|not_applicable"')
NOT_JUDGED = series("verdicts_total", *OF_VERDICT, 'label="not_judged"')
TO_BE_JUDGED = series("verdicts_total", *OF_VERDICT, 'label!="not_applicable"')

_VERSIONS = series("pass_ratio_verdicts", *OF_SESSION)

NEW_VERSION = Mark(
    "New agent version",
    # Not verdicts_total: it begins anew with every restart, and every version would look new.
    f"count by (service, agent_version) ({_VERSIONS}) "
    f"unless count by (service, agent_version) (max_over_time({_VERSIONS}[1h] offset 5m))",
    "{{service}} {{agent_version}}",
    "first verdicts of this agent version, within five minutes",
    "blue",
)
RELOAD = Mark(
    "Configuration read",
    f"{series('config_last_reload_success_timestamp_seconds')} * 1000",
    "configuration of {{instance}}",
    "suites, rubrics and sampling are those of this moment from here on",
    "text",
    at_value=True,
)
RELEASE = Mark(
    "New SpanJudge version",
    f"count by (version) ({series('build_info')}) "
    f"unless count by (version) (max_over_time({series('build_info')}[1h] offset 5m))",
    "SpanJudge {{version}}",
    "first seen",
    "green",
)
ALERT = Mark(
    "Alerts",
    'ALERTS{alertname=~"SpanJudge.+",alertstate="firing"}',
    "{{alertname}}",
    "{{service}} {{evaluator}} {{skill}} {{instance}}",
    "red",
)
