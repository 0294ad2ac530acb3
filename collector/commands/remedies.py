"""What an engineer can do about a verdict without a score, by the reason it gives."""

from __future__ import annotations

_REMEDIES = {
    "pending": "nothing: a judge will be asked; spanjudge_questions_pending counts what waits",
    "no_judge_configured": "set ANTHROPIC_API_KEY (or judge.api_key) and restart; sessions that close later are judged",
    "content_not_recorded": "switch on content capture in the agent's instrumentation; see docs/quickstart.md",
    "judge_unavailable": "the judge was not reached in time; check network, judge.base_url, the provider's status",
    "budget_spent": "raise the limit under judge.budget that the detail names, or sample fewer sessions",
    "judge_not_authorised": "the judge refused the key: check ANTHROPIC_API_KEY or judge.api_key",
    "judge_request_rejected": "the judge refused the request: check judge.model and judge.base_url",
    "judge_refused": "the model declined to answer about this session; read the session itself",
    "answer_cut_off": "the answer ran into judge.max_output_tokens: raise it",
    "answer_malformed": "the model did not answer in the form asked for; if it does so often, change judge.model",
    "transcript_too_long": "lower judge.transcript_tokens, or choose a judge.model with a larger context",
    "over_limit": "raise max_questions of this evaluator if the rest is worth its cost",
    "votes_disagree": "the judge is of two minds: read the session, or word the criterion more sharply",
    "votes_missing": "too many of the votes brought no answer; see the server's log for why",
    "question_unreadable": "the verdict store was damaged or written by another version; see the server's log",
    "verdict_unreadable": "the verdict store was damaged or written by another version; see the server's log",
    "schema_unusable": "mend the tool's JSON Schema in the agent, or leave the tool's arguments unjudged",
    "judge_error": "a defect of ours in asking: its traceback is in the server's log; please report it",
    "evaluator_error": "a defect of the evaluator: its traceback is in the server's log; please report it",
}


def remedy(reason: str) -> str:
    """One sentence. An unknown reason, of a later version or of somebody's own evaluator, sends to the log."""
    return _REMEDIES.get(reason, "the server's log says more about this reason")
