// Where the user writes to a session. While the agent works, a message waits in the queue.

import { newId, path, post } from "./api.js";
import { byId, say } from "./dom.js";
import { attend, questionControl } from "./focus.js";
import { submitOnEnter } from "./question.js";

const LATER = "Add a message for later …";
const PLACEHOLDERS = {
  queued: LATER,
  running: LATER,
  waiting_user: "A message for later. Answer above.",
};

export class Composer {
  /** `tried(action)` tells whether it succeeded, and reports why not. */
  constructor(tried) {
    this.tried = tried;
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
    this.showState(null);
  }

  /** `state`: of the run that is under way, or null. */
  showState(state) {
    byId("behavior").hidden = state === null;
    say(byId("send-words"), state === null ? "Send" : "Queue");
    this.text.placeholder = PLACEHOLDERS[state] ?? "Write to the agent …";
  }

  setClosed(closed) {
    for (const control of this.form.elements) control.disabled = closed;
    if (closed && this.text.value === "") this.form.hidden = true; // a text that nobody got stays, to be copied
  }

  async #submit(event) {
    event.preventDefault();
    const text = this.text.value;
    if (!text.trim() || this.send.disabled) return;
    const asked = questionControl();
    this.send.disabled = true;
    this.text.focus();
    if (await this.tried(() => this.#post(text))) {
      this.unsent = null;
      if (this.text.value === text) this.text.value = "";
    }
    this.send.disabled = false;
    if (questionControl() !== asked) attend(); // the question came while this text was still here
  }

  #post(text) {
    // What was not delivered is sent again under its name, so that it is never taken twice.
    if (this.unsent?.text !== text) this.unsent = { text, prompt_id: newId() };
    const session = path("sessions", this.sessionId);
    if (!byId("behavior").hidden && byId("steer").checked) return post(`${session}/steer`, this.unsent);
    return post(`${session}/prompt`, { ...this.unsent, streaming_behavior: "follow_up" });
  }
}
