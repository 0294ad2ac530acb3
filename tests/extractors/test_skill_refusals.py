from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.skill_refusals import is_refusal, refusal_in

BODY = "# Brew\n\n1. Boil.\n2. Steep."
REFUSALS = [
    "Skill 'brew' not found. Available skills: grind, roast",
    'Skill "brew" was not found.',
    "Skill brew is not found",
    "Error: Skill 'brew' not found.",
    "Error: skill_name is required. Available skills: grind",
    "Unknown skill: brew",
    "unrecognized skill brew",
    "No such skill: brew",
    "Error: Tool call invocation was rejected by user.",
    "  Unknown skill: brew\n",
    "Error: Skill name cannot be empty.",
    "KeyError: 'no skill named brew; choose from: grind, roast'",
    "shop.errors.AccessError: brew is for the night shift",
    "Skill 'brew' is disabled",
    "No capability found with id 'brew'.",
    "The tool call was denied.",
    "Skill not found: brew",
    "The skill 'brew' could not be found.",
    "Skill brew does not exist",
    "Skill `brew` cannot be invoked directly.",
    "Skill brew is not in the list of this session",
    "Failed to load skill 'brew': locked",
    "There is no skill called brew.",
    "You are not allowed to use the skill 'brew'.",
    "Access denied: brew",
    "The user declined the request.",
    "BrewNotFound: no",
    "<tool_use_error>Unknown skill: brew</tool_use_error>",
    "[ERROR] Unknown skill brew",
    "\u274c Skill 'brew' not found",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_refusals_are_told_by_their_wording(text: str) -> None:
    assert is_refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        BODY,
        "Unknown skill: brew\nbut here is the text",
        "If a bean is not found, order it.",
        "Skills matter here.",
        "Use no kettle.",
        "# Error: none",
    ],
)
def test_a_skills_text_is_no_refusal(text: str) -> None:
    assert not is_refusal(text)


def test_a_refusal_is_recognized_whatever_the_requested_name_holds() -> None:
    assert is_refusal("Skill 'o'brew' not found. Available skills: grind", "o'brew")
    assert not is_refusal("Skill 'o'brew' not found. Available skills: grind")


def test_a_refusal_may_go_on_below_the_line_that_names_the_skill() -> None:
    text = "Skill 'brew' not found.\n\nAvailable skills:\n- grind\n- roast"
    assert is_refusal(text, "brew")
    assert not is_refusal(text, "steep")
    assert not is_refusal(f"{BODY}\n\nSkill 'brew' not found.", "brew")


@pytest.mark.parametrize(
    "first", ["You must not skip a step of the brew skill.", "The skill brew must not be used for cold water."]
)
def test_instructions_that_begin_with_an_order_are_no_refusal(first: str) -> None:
    assert not is_refusal(f"{first}\n\n1. Boil.\n2. Steep.", "brew")
    assert is_refusal(first, "brew")


def test_a_name_that_looks_like_instructions_makes_no_body_of_its_refusal() -> None:
    name = "brew\n\n# Brew\n1. Boil."
    assert is_refusal(f"Skill '{name}' not found. Available skills: grind", name)


@pytest.mark.parametrize(
    ("result", "refusal"),
    [
        ('{"error": "Asleep."}', "Asleep."),
        ('{"status": "denied", "reason": "Not at night."}', "Not at night."),
        ('{"success": false, "message": "No."}', "No."),
        ('{"is_error": true}', '{"is_error": true}'),
        ('{"result": "Unknown skill: brew"}', "Unknown skill: brew"),
        ('{"response": {"status": "error", "error": "Gone."}}', "Gone."),
        ('{"output": "{\\"error\\": \\"Gone.\\"}"}', "Gone."),
        ('{"status": "loaded", "instructions": "Boil."}', None),
        ('{"ok": true, "message": "No skill is better."}', None),
        ("{", None),
    ],
)
def test_a_json_result_tells_of_a_refusal_in_its_own_words(result: str, refusal: str | None) -> None:
    assert refusal_in(result, "brew") == refusal


@given(text=st.text(alphabet="Skill 'brew\"` not found\n{}:", max_size=200), name=st.none() | st.text(max_size=5))
def test_no_text_raises(text: str, name: str | None) -> None:
    is_refusal(text, name)
    refusal_in(text, name)


@pytest.mark.parametrize(("wrappings", "refusal"), [(3, "Unknown skill: brew"), (4, None)])
def test_results_that_wrap_results_are_followed_a_little(wrappings: int, refusal: str | None) -> None:
    document = "Unknown skill: brew"
    for _ in range(wrappings):
        document = json.dumps({"result": document})
    assert refusal_in(document) == refusal
