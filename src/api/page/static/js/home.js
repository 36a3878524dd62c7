// Where something new is started: a session, or a single run.

import { go } from "./address.js";
import { path, post } from "./api.js";
import { byId } from "./dom.js";
import { submitOnEnter } from "./question.js";

export class Home {
  constructor(tried) {
    this.tried = tried;
    this.form = byId("start");
    byId("prompt").addEventListener("keydown", (event) => submitOnEnter(event, this.form));
    this.form.addEventListener("submit", (event) => this.#submit(event));
    byId("examples").addEventListener("click", ({ target }) => {
      if (target.tagName !== "BUTTON") return;
      byId("prompt").value = target.textContent;
      byId("prompt").focus();
    });
    byId("mode").addEventListener("change", () => this.#showMode());
    byId("engine-options").addEventListener("input", (event) => checkObject(event.target));
  }

  async #submit(event) {
    event.preventDefault();
    const button = byId("start-button");
    if (button.disabled) return;
    button.disabled = true;
    const started = await this.tried(() => (byId("start-session").checked ? this.#startSession() : this.#startRun()));
    if (started) byId("prompt").value = "";
    button.disabled = false;
  }

  async #startSession() {
    const { session_id: id } = await post("/v1/sessions", settings());
    const text = byId("prompt").value;
    if (text.trim()) await post(`${path("sessions", id)}/prompt`, { text, streaming_behavior: "follow_up" });
    go("sessions", id);
  }

  async #startRun() {
    const { run_id: id } = await post("/v1/runs", { ...settings(), prompt: byId("prompt").value });
    go("runs", id);
  }

  #showMode() {
    byId("waiting").hidden = byId("mode").value === "auto";
  }
}

function settings() {
  const mode = byId("mode").value;
  const options = byId("engine-options").value.trim();
  const waiting = {
    interactive_require_user_reply: byId("strict").checked,
    session_timeout_sec: Number(byId("timeout").value) * 60,
  };
  return {
    engine: byId("engine").value.trim(),
    mode,
    ...(mode === "interactive" ? waiting : {}),
    ...(options ? { engine_options: JSON.parse(options) } : {}),
  };
}

function checkObject(area) {
  let fault = "";
  try {
    const value = JSON.parse(area.value || "{}");
    if (value === null || typeof value !== "object" || Array.isArray(value)) fault = "This must be a JSON object.";
  } catch {
    fault = "This must be JSON.";
  }
  area.setCustomValidity(fault);
}
