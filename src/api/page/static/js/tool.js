// A call of a tool, folded: its name and how it went; inside, what it was given and what it gave.

import { el, say } from "./dom.js";

export class ToolUse {
  constructor({ call_id, name, arguments: given }) {
    this.callId = call_id;
    this.outcome = el("span", { class: "outcome" }, "calling");
    this.body = el("div", { class: "body" }, ...part("Given", given));
    this.element = el(
      "li",
      { class: "item tool", "data-status": "calling" },
      el("details", {}, el("summary", {}, el("span", { class: "name" }, name), gist(given), this.outcome), this.body),
    );
  }

  finish({ status, result }) {
    this.element.dataset.status = status;
    say(this.outcome, status === "failed" ? "failed" : "done");
    this.body.append(...part("Result", result));
  }

  /** The run ended and the tool never answered. */
  abandon() {
    if (this.element.dataset.status !== "calling") return;
    this.element.dataset.status = "abandoned";
    say(this.outcome, "no result");
  }
}

function gist(given) {
  const short = Object.values(given ?? {}).find((value) => typeof value === "string" || typeof value === "number");
  return short === undefined ? null : el("span", { class: "gist", dir: "auto" }, String(short));
}

function part(title, value) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return [el("h4", {}, title), el("pre", { tabindex: "0" }, text)];
}
