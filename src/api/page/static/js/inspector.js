// The panel of a run: its statechart, the way it took, its facts, and its place in the Temporal UI.

import { addressOf } from "./address.js";
import { get, path } from "./api.js";
import { Chart, idOf } from "./chart.js";
import { clockTime, exactTime } from "./clock.js";
import { byId, el, icon } from "./dom.js";
import { STATES } from "./words.js";

const WIDE = matchMedia("(min-width: 1180px)");

export class Inspector {
  constructor() {
    this.panel = byId("inspector");
    this.toggle = byId("toggle-inspector");
    this.chart = new Chart();
    byId("chart").append(this.chart.element);
    this.toggle.addEventListener("click", () => this.#set(this.panel.hidden));
    byId("close-inspector").addEventListener("click", () => this.#set(false));
    this.panel.addEventListener("keydown", (event) => event.key === "Escape" && this.#set(false));
  }

  /** Something else was opened: `sessions`, `runs`, or null for what has no run. */
  reset(kind) {
    const shown = kind !== null;
    this.kind = kind;
    this.runId = null;
    this.paths = new Map();
    this.starts = new Map();
    this.toggle.hidden = !shown;
    byId("facts").replaceChildren();
    byId("path").replaceChildren();
    this.chart.show(null, []);
    this.#set(shown && WIDE.matches, false);
  }

  apply({ run_id: runId, type, data, ts }) {
    if (type === "conversation.started") {
      this.paths.set(runId, []);
      this.starts.set(runId, ts);
    }
    if (type === "conversation.state.changed") this.paths.get(runId)?.push({ ...data, ts });
  }

  /** Shows a run as far as its events have been applied. */
  async show(runId) {
    const steps = this.paths.get(runId) ?? [];
    const state = steps.at(-1)?.to ?? (this.paths.has(runId) ? "queued" : null);
    this.chart.show(state, steps);
    const start = { to: "queued", trigger: "start", ts: this.starts.get(runId) };
    byId("path").replaceChildren(...(start.ts ? [start, ...steps] : []).map(stepItem));
    const stale = this.runId !== runId || state !== this.state;
    [this.runId, this.state] = [runId, state];
    if (runId && stale) await this.#showFacts(runId);
  }

  async #showFacts(runId) {
    const run = await get(path("runs", runId)).catch(() => null); // the stream says when the server is away
    const session = this.kind === "runs" && run?.session_id ? await this.#sessionOf(run) : null;
    if (run && this.runId === runId) byId("facts").replaceChildren(...factsOf(run, session));
  }

  /** Null when there is no such session: `session_id` may be a label of the caller's own. */
  async #sessionOf(run) {
    return get(path("sessions", run.session_id)).catch(() => null);
  }

  #set(open, byHand = true) {
    this.panel.hidden = !open;
    this.toggle.setAttribute("aria-expanded", String(open));
    document.body.classList.toggle("inspecting", open);
    if (byHand) (open ? byId("close-inspector") : this.toggle).focus();
  }
}

function stepItem(step) {
  return el(
    "li",
    { "data-transition": idOf(step) },
    el("span", { class: "to" }, STATES[step.to]),
    el("span", { class: "trigger" }, step.trigger),
    el("time", { datetime: step.ts, title: exactTime(step.ts) }, clockTime(step.ts)),
  );
}

function factsOf(run, session) {
  const facts = [
    ["Run", el("code", {}, run.run_id)],
    session ? ["Session", el("a", { href: addressOf("sessions", session.session_id), dir: "auto" }, session.prompt_preview || "Open")] : null,
    ["Engine", run.engine],
    ["Mode", run.mode],
    ["Turns", String(run.attempt)],
    ["Started", exactTime(run.created_at)],
    run.ended_at ? ["Ended", exactTime(run.ended_at)] : null,
    run.auto_decision_count ? ["Decided by deadline", String(run.auto_decision_count)] : null,
    run.recovery_state === "none" ? null : ["Recovery", run.recovery_reason ?? run.recovery_state],
  ].filter(Boolean);
  const list = el("dl", {}, ...facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
  if (!run.temporal_ui_url) return [list];
  const attributes = { class: "button", href: run.temporal_ui_url, target: "_blank", rel: "noreferrer noopener" };
  return [list, el("a", { ...attributes, id: "temporal-link" }, "Open in the Temporal UI", icon("out"))];
}
