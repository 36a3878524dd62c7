// One message: of the user, or of the agent while it is being written and after.

import { clockTime, exactTime } from "./clock.js";
import { el, icon } from "./dom.js";
import { Prose } from "./prose.js";

export function userMessage(text, ts, fork) {
  const foot = el("footer", {}, timeOf(ts));
  if (fork) {
    foot.append(
      el("button", { type: "button", class: "quiet small", onclick: fork }, icon("fork"), "Fork from here"),
    );
  }
  return el("li", { class: "item user" }, el("h3", { class: "unseen" }, "You"), el("div", { class: "bubble", dir: "auto" }, text), foot);
}

export class AgentMessage {
  constructor(id) {
    this.id = id;
    this.length = 0; // in code points, as the stream counts
    this.text = "";
    this.prose = new Prose();
    this.element = el("li", { class: "item agent writing" }, el("h3", { class: "unseen" }, "Agent"), this.prose.element);
  }

  show(text) {
    this.text = text;
    this.length = Array.from(text).length;
    this.#draw();
  }

  /** More text; what overlaps with text that is already there is passed over. */
  add(offset, text) {
    const points = Array.from(text);
    if (offset > this.length || offset + points.length <= this.length) return;
    this.text += points.slice(this.length - offset).join("");
    this.length = offset + points.length;
    this.frame ??= requestAnimationFrame(() => this.#draw()); // small pieces come faster than anybody sees them
  }

  finish({ text, status }, ts) {
    this.show(text);
    this.#end(status === "interrupted");
    if (ts) this.element.append(el("footer", {}, timeOf(ts)));
  }

  /** The run ended before the message did. */
  interrupt() {
    this.#draw();
    this.#end(true);
  }

  #draw() {
    cancelAnimationFrame(this.frame);
    this.frame = undefined;
    this.prose.show(this.text);
  }

  #end(interrupted) {
    this.element.classList.remove("writing");
    if (interrupted) this.element.append(el("p", { class: "aside" }, "Interrupted here."));
  }
}

export function timeOf(ts) {
  return ts ? el("time", { datetime: ts, title: exactTime(ts) }, clockTime(ts)) : null;
}
