// How long a question still waits, and what will happen then.

import { clockTime, countdown, exactTime, now } from "./clock.js";
import { el, say } from "./dom.js";
import { valueText } from "./words.js";

export class Deadline {
  constructor(question, strict) {
    this.at = Date.parse(question.deadline);
    this.then = consequence(question, strict);
    this.strict = strict;
    this.left = el("span", { class: "left", role: "timer", "aria-live": "off" });
    this.words = el("span", {});
    this.element = el("p", { class: "deadline", title: exactTime(question.deadline) }, this.left, this.words);
    this.#tick();
  }

  stop() {
    clearTimeout(this.timer);
  }

  #tick() {
    const ms = this.at - now();
    if (ms > 0) {
      say(this.left, countdown(ms));
      say(this.words, ` left to answer, until ${clockTime(this.at)}. ${this.then}`);
      this.timer = setTimeout(() => this.#tick(), ms % 1000 || 1000);
    } else {
      say(this.left, "");
      say(this.words, "The time to answer has passed.");
      this.element.hidden = this.strict; // the thread has a notice of it, which stays
    }
  }
}

function consequence({ default_decision_policy: policy, default: value, options }, strict) {
  if (strict) return "After that the agent keeps waiting for you.";
  if (policy !== "use_default") return "After that the agent decides by itself.";
  const label = options.find((option) => option.value === value)?.label ?? valueText(value);
  return `After that the default “${label}” is taken.`;
}
