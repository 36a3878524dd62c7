// What a screen reader says without being asked: whole messages and turning points, never single words.

import { byId, el } from "./dom.js";

const KEPT = 4;
const LONGEST = 600;

export function announce(text) {
  const region = byId("announcer");
  region.append(el("p", {}, text.length > LONGEST ? `${text.slice(0, LONGEST)} …` : text));
  while (region.childElementCount > KEPT) region.firstElementChild.remove();
}
