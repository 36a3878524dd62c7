// The head of the page: what is open, the state it is in, and what can be done with the whole of it.

import { byId, say } from "./dom.js";
import { NAMELESS, STATES } from "./words.js";

export class Header {
  constructor(actions) {
    this.cancel = byId("cancel");
    this.close = byId("close-session");
    this.cancel.addEventListener("click", () => this.#act(this.cancel, actions.cancel));
    this.close.addEventListener("click", () => byId("confirm-close").showModal());
    byId("confirm-close").addEventListener("close", ({ target }) => {
      if (target.returnValue === "close") this.#act(this.close, actions.close);
      target.returnValue = "";
    });
  }

  show(title, sort) {
    this.title = title || NAMELESS[sort];
    say(byId("title"), this.title);
    this.#showTitle();
  }

  showState(state, { active, closable }) {
    this.state = state;
    const chip = byId("state");
    chip.hidden = state === null;
    chip.dataset.state = state ?? "";
    say(byId("state-words"), STATES[state] ?? "");
    if (!active) this.cancel.disabled = false;
    if (!closable) this.close.disabled = false;
    this.cancel.hidden = !active;
    this.close.hidden = !closable;
    this.#showTitle();
  }

  #showTitle() {
    const mark = this.state === "waiting_user" ? "● " : "";
    document.title = `${mark}${this.title} · Turnwise`;
  }

  /** A button stays pressed until what it asked for has happened, or was refused. */
  async #act(button, action) {
    button.disabled = true;
    if (!(await action())) button.disabled = false;
  }
}
