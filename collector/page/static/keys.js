// Keys for those who go through many sessions; every page works without them. Nothing is sent anywhere.
"use strict";

const SWITCHED_OFF = "spanjudge-keys-off";
let on = true;
try { on = localStorage.getItem(SWITCHED_OFF) === null; } catch { /* storage may be forbidden: keys are on then */ }

const show = () => {
  document.querySelectorAll("[data-keys-help]").forEach((one) => { one.hidden = !on && one.tagName !== "P"; });
  const button = document.querySelector("[data-keys-switch]");
  if (button) {
    button.textContent = on ? "Keys are on" : "Keys are off";
    button.setAttribute("aria-pressed", String(on));
  }
};

const steps = () => [...document.querySelectorAll("[data-step]")];

const walk = (by) => {
  const all = steps();
  if (!all.length) return;
  const here = all.findIndex((one) => one === document.activeElement || one.contains(document.activeElement));
  const next = here < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, here + by));
  all[next].focus();
  all[next].scrollIntoView({ block: "center" });
};

// The form of the verdict that is looked at; on a page with one form, that one.
const form = () => {
  const verdict = document.activeElement?.closest("[data-verdict]");
  const details = verdict?.querySelector("[data-label-form]");
  if (details) {
    details.open = true;
    return details.querySelector("form");
  }
  const forms = document.querySelectorAll("form.labelling");
  return forms.length === 1 ? forms[0] : null;
};

const choose = (key) => {
  const chosen = form();
  const radio = chosen?.querySelector(`[data-key="${key}"]`);
  if (!radio) return false;
  radio.checked = true;
  chosen.querySelector(key === "d" ? "[data-right-label]" : "[data-reason]").focus();
  return true;
};

const follow = (key) => {
  const link = document.querySelector(`a[data-key="${key}"]`);
  if (link) link.click();
  return Boolean(link);
};

const search = () => {
  const field = document.querySelector("[data-search]");
  if (field) field.focus();
  else location.assign("/sessions");
  return true;
};

const KEYS = {
  j: () => { walk(1); return true; },
  k: () => { walk(-1); return true; },
  a: () => choose("a"),
  d: () => choose("d"),
  s: () => follow("s"),
  v: () => follow("v"),
  "/": search,
};

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.target.closest("form.labelling")?.requestSubmit();
    return;
  }
  if (!on || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.closest("input:not([type=radio]), textarea, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (Object.hasOwn(KEYS, event.key) && KEYS[event.key]()) event.preventDefault();
});

document.querySelector("[data-keys-switch]")?.addEventListener("click", () => {
  on = !on;
  try {
    if (on) localStorage.removeItem(SWITCHED_OFF);
    else localStorage.setItem(SWITCHED_OFF, "1");
  } catch { /* as above: it holds for this page only */ }
  show();
});

show();
