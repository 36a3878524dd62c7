// Where the keyboard goes when a question comes, and when what it was on is gone.

import { byId } from "./dom.js";

const TOUCH = matchMedia("(pointer: coarse)"); // there, entering a field would cover half the screen with keys
const CONTROLS = ".question.open form :is(input, select, textarea, button):enabled";

export function rest() {
  const writing = byId("message").checkVisibility() && !byId("message").disabled && !TOUCH.matches;
  byId(writing ? "message" : "title").focus({ preventScroll: true });
}

/** The first control of the open question, if there is one. One that accepts a risk is disabled at first. */
export function questionControl() {
  return document.querySelector(CONTROLS);
}

/** To the open question, unless the keyboard is in use elsewhere, or its user is writing or reading further up. */
export function attend() {
  const idle = [document.body, byId("title"), byId("message")].includes(document.activeElement);
  const busy = byId("message").value !== "" || !byId("newest").hidden || TOUCH.matches;
  if (idle && !busy) questionControl()?.focus({ preventScroll: true });
}
