"""What does judging cost, and does the judge answer?"""

from __future__ import annotations

from deploy.grafana.choices import ALERT, EVALUATOR, INSTANCE, JOB, MODEL, RELEASE, RELOAD
from deploy.grafana.parts import Dashboard, Panel, Query, Row, stat
from deploy.grafana.promql import ALL_SHOWN, WINDOW, events, largest, or_zero, per_second, quantile, ratio, series

_BY_MODEL = ('model=~"$model"',)
_BY_EVALUATOR = ('evaluator=~"$evaluator"',)
_COST = series("judge_cost_dollars_total", *_BY_MODEL, *_BY_EVALUATOR)
_REQUESTS = series("judge_requests_total", *_BY_MODEL)
_RATE_LABELS = ("service", "evaluator", "agent_version")

_AT_A_GLANCE = Row(
    "At a glance",
    [
        stat(
            "Judge",
            "Whether somebody can be asked. Not ready: no key, an open circuit, or every model refused; the log and "
            "spanjudge explain say which. Questions wait meanwhile, and nothing is called a failure.",
            f"min ({series('judge_ready')})",
            unit="bool_yes_no",
            width=3,
            thresholds=[(None, "red"), (1, "green")],
        ),
        stat(
            "Circuit open",
            "1 while the judge is not asked because it failed or refused the key. It tries again by itself, unless "
            "the key is refused: mend that.",
            f"max ({series('judge_circuit_open')})",
            unit="bool_yes_no",
            width=3,
            thresholds=[(None, "green"), (1, "red")],
        ),
        stat(
            "Models refused",
            "Models that the service refuses (403) or does not know (404). Their questions wait for a change of key or "
            "configuration.",
            f"max ({series('judge_models_refused')})",
            width=3,
            thresholds=[(None, "green"), (1, "red")],
        ),
        stat(
            "Spent",
            "Dollars in the time shown, by the prices configured. 0 with answers: judge.prices lacks the model.",
            or_zero(events(_COST, ALL_SHOWN)),
            unit="currencyUSD",
            width=3,
        ),
        stat(
            "Least budget left",
            "Of the limit that is nearest to its end. At 0 questions wait for the next hour or day (UTC). No data: no "
            "limit is set.",
            f"min ({series('judge_budget_remaining_ratio')})",
            unit="percentunit",
            width=3,
            thresholds=[(None, "red"), (0.05, "yellow"), (0.2, "green")],
        ),
        stat(
            "Questions waiting",
            "Questions without an answer yet. They are durable. Growing for hours: budget, circuit, or concurrency.",
            f"max ({series('questions_pending')})",
            width=3,
        ),
        stat(
            "Oldest question",
            "How long it has waited. At judge.max_wait_seconds it is given up as not judged.",
            f"max ({series('questions_oldest_seconds')})",
            unit="s",
            width=3,
            thresholds=[(None, "green"), (3600, "yellow"), (43200, "red")],
        ),
        stat(
            "Requests answered",
            "Share of requests with a usable answer, in the time shown. What is not answered is tried again, or not "
            "judged.",
            ratio(
                events(series("judge_requests_total", *_BY_MODEL, 'outcome="answered"'), ALL_SHOWN),
                events(_REQUESTS, ALL_SHOWN),
            ),
            unit="percentunit",
            width=3,
            thresholds=[(None, "red"), (0.8, "yellow"), (0.95, "green")],
        ),
    ],
)

_RELIABILITY = Row(
    "Reliability",
    [
        Panel(
            "Requests by outcome",
            "Requests in each window. judge_unavailable: overload, errors of the service, timeouts. "
            "judge_not_authorised: the key. answer_malformed, judge_refused, answer_cut_off: the model; see "
            "docs/judge.md.",
            [Query(events(_REQUESTS, WINDOW, "model", "outcome"), "{{model}} {{outcome}}")],
        ),
        Panel(
            "Time of a request",
            "Half and 95 % of requests are quicker. Near judge.timeout_seconds, requests are given up and paid for.",
            [
                Query(quantile(0.5, "judge_question_duration_seconds", _BY_MODEL, "model"), "{{model}} half"),
                Query(quantile(0.95, "judge_question_duration_seconds", _BY_MODEL, "model"), "{{model}} 95 %"),
            ],
            unit="s",
        ),
        Panel(
            "Circuit and refused models",
            "1 is open. Times that it opened, by reason, in each window.",
            [
                Query(largest(series("judge_circuit_open"), "instance"), "open {{instance}}"),
                Query(largest(series("judge_models_refused"), "instance"), "models refused {{instance}}"),
                Query(events(series("judge_circuit_opened_total"), WINDOW, "reason"), "opened: {{reason}}"),
            ],
        ),
        Panel(
            "Queue",
            "Questions that wait, and how many may be asked at once just now. Concurrency falls in trouble and comes "
            "back by itself, up to judge.concurrency.",
            [
                Query(largest(series("questions_pending"), "instance"), "waiting {{instance}}"),
                Query(largest(series("judge_concurrency"), "instance"), "at once {{instance}}"),
                Query(largest(series("judge_batches_open"), "instance"), "batches {{instance}}"),
            ],
        ),
        Panel(
            "Age of the oldest question",
            "Rising in a straight line: nothing is answered. Raise the budget or judge.concurrency, or sample less.",
            [Query(largest(series("questions_oldest_seconds"), "instance"), "{{instance}}")],
            unit="s",
        ),
        Panel(
            "Given up",
            "Questions that waited too long, by what they waited for, and stored ones that could not be read. Both "
            "are not judged.",
            [
                Query(events(series("questions_expired_total"), WINDOW, "reason"), "expired: {{reason}}"),
                Query(events(series("questions_unreadable_total"), WINDOW), "unreadable"),
            ],
        ),
    ],
)

_COSTS = Row(
    "Cost",
    [
        Panel(
            "Dollars an hour, by model",
            "By the prices configured, at the rate of this moment.",
            [Query(f"3600 * {per_second(_COST, 'model')}", "{{model}}")],
            unit="currencyUSD",
            stacked=True,
        ),
        Panel(
            "Dollars by evaluator",
            "In each window. The dearest first candidate for a smaller model, a lower effort, or sampling.",
            [Query(events(_COST, WINDOW, "evaluator"), "{{evaluator}}")],
            unit="currencyUSD",
            stacked=True,
        ),
        Panel(
            "Budget left",
            "Share of each limit in its current hour or day. Hard: nothing is asked that could get over it.",
            [
                Query(
                    f"min by (window, unit, evaluator) ({series('judge_budget_remaining_ratio')})",
                    "{{unit}} a {{window}} {{evaluator}}",
                )
            ],
            unit="percentunit",
            most=1,
            thresholds=[(None, "red"), (0.05, "text")],
        ),
        Panel(
            "Tokens",
            "By kind. Input from the cache costs about a tenth.",
            [Query(per_second(series("judge_tokens_total", *_BY_MODEL), "model", "kind"), "{{model}} {{kind}}")],
            stacked=True,
        ),
        Panel(
            "Input read from the prompt cache",
            "Share of input tokens. Low although sessions have several questions: they are asked too far apart, or "
            "records are too short to be cached.",
            [
                Query(
                    ratio(
                        events(series("judge_tokens_total", *_BY_MODEL, 'kind="cache_read"'), WINDOW, "model"),
                        events(series("judge_tokens_total", *_BY_MODEL, 'kind!="output"'), WINDOW, "model"),
                    ),
                    "{{model}}",
                )
            ],
            unit="percentunit",
            most=1,
        ),
        Panel(
            "Answered without asking",
            "Questions for which an earlier answer to the same was used, in each window.",
            [Query(events(series("judge_cache_hits_total", *_BY_EVALUATOR), WINDOW, "evaluator"), "{{evaluator}}")],
        ),
        Panel(
            "Dollars per scored verdict",
            "Of evaluators that ask, in each window. It grows with longer sessions, votes, effort.",
            [
                Query(
                    ratio(
                        events(_COST, WINDOW, "evaluator"),
                        events(
                            series("verdicts_total", *_BY_EVALUATOR, 'label!~"not_judged|not_applicable"'),
                            WINDOW,
                            "evaluator",
                        ),
                    )
                    + f" and on (evaluator) {events(_COST, WINDOW, 'evaluator')}",
                    "{{evaluator}}",
                )
            ],
            unit="currencyUSD",
        ),
    ],
)

_TRUST = Row(
    "How far to trust it",
    [
        Panel(
            "Labels of people",
            "Labelled verdicts behind the corrected pass ratios. Too few: spanjudge label --next, or the page.",
            [
                Query(
                    largest(series("pass_ratio_labels", *_BY_EVALUATOR), *_RATE_LABELS),
                    "{{service}} {{agent_version}} {{evaluator}}",
                )
            ],
            width=12,
        ),
        Panel(
            "Corrected minus counted",
            "How far the evaluator's errors move the pass ratio. Far from 0: the evaluator is too strict (above) or "
            "too lenient (below); spanjudge calibrate has the details.",
            [
                Query(
                    f"{largest(series('pass_ratio_corrected', *_BY_EVALUATOR), *_RATE_LABELS)} "
                    f"- {largest(series('pass_ratio', *_BY_EVALUATOR), *_RATE_LABELS)}",
                    "{{service}} {{agent_version}} {{evaluator}}",
                )
            ],
            unit="percentunit",
            width=12,
            least=None,
        ),
    ],
)

JUDGE = Dashboard(
    "spanjudge-judge",
    "SpanJudge: judge",
    "What asking the model costs, whether it answers, and how far to trust it.",
    [JOB, INSTANCE, MODEL, EVALUATOR],
    [_AT_A_GLANCE, _RELIABILITY, _COSTS, _TRUST],
    [RELOAD, RELEASE, ALERT],
)
