// Where the keyboard goes when what it was on is gone.

import { byId } from "./dom.js";

const TOUCH = matchMedia("(pointer: coarse)"); // there, entering a field would cover half the screen with keys

export function rest() {
  const writing = !byId("composer").hidden && !TOUCH.matches;
  byId(writing ? "message" : "title").focus({ preventScroll: true });
}
