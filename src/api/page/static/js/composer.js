// Where the user writes to a session. While the agent works, a message waits in the queue.

import { newId, path, post } from "./api.js";
import { byId, say } from "./dom.js";
import { submitOnEnter } from "./question.js";

export class Composer {
  constructor(report) {
    this.report = report;
    this.form = byId("composer");
    this.text = byId("message");
    this.send = byId("send");
    this.text.addEventListener("keydown", (event) => submitOnEnter(event, this.form));
    this.form.addEventListener("submit", (event) => this.#submit(event));
  }

  /** `null` hides it: a single run takes no further messages. */
  reset(sessionId, draft = "") {
    this.sessionId = sessionId;
    this.form.hidden = sessionId === null;
    this.text.value = draft;
    this.setClosed(false);
    this.setWorking(false);
  }

  setWorking(working) {
    byId("behavior").hidden = !working;
    say(byId("send-words"), working ? "Queue" : "Send");
    this.text.placeholder = working ? "Add a message for later …" : "Write to the agent …";
  }

  setClosed(closed) {
    for (const control of this.form.elements) control.disabled = closed;
    byId("closed-note").hidden = !closed;
  }

  async #submit(event) {
    event.preventDefault();
    const text = this.text.value;
    if (!text.trim() || this.send.disabled) return;
    this.send.disabled = true;
    try {
      await this.#post(text);
      this.unsent = null;
      if (this.text.value === text) this.text.value = "";
    } catch (error) {
      this.report(error);
    }
    this.send.disabled = false;
    this.text.focus();
  }

  #post(text) {
    // What was not delivered is sent again under its name, so that it is never taken twice.
    if (this.unsent?.text !== text) this.unsent = { text, prompt_id: newId() };
    const session = path("sessions", this.sessionId);
    if (!byId("behavior").hidden && byId("steer").checked) return post(`${session}/steer`, this.unsent);
    return post(`${session}/prompt`, { ...this.unsent, streaming_behavior: "follow_up" });
  }
}
