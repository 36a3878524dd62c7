// How a run ended, and what it warned of.

import { el, icon } from "./dom.js";
import { timeOf } from "./message.js";

const WARNINGS = {
  SESSION_TIMEOUT_ELAPSED: "The time to answer has passed. The agent keeps waiting for you.",
  TURN_REDRIVEN: "The worker of this turn was lost. The turn is run again.",
  REPLY_SIGNAL_REFUSED: "A reply that came by signal was refused.",
};

const FAILURES = {
  ORCHESTRATOR_RESTART_INTERRUPTED: "The service was restarted while the agent worked.",
  SESSION_RESUME_FAILED: "The service was restarted, and the agent could not go on where it stopped.",
  INTERACTIVE_MAX_ATTEMPT_EXCEEDED: "The agent asked more often than it was allowed to.",
};

/** How it ended, in a sentence. */
export function endWords({ type, data }) {
  if (type === "conversation.completed") return data.attempts === 1 ? "Completed in one turn" : `Completed in ${data.attempts} turns`;
  if (data.error.code === "RUN_CANCELED") return "Canceled";
  return `The run failed: ${FAILURES[data.error.code] ?? data.error.message}`;
}

/** With a link to the run, where it has an address other than this one. */
export function endOfRun(event, address) {
  const { type, data, ts } = event;
  const link = address ? el("a", { href: address, class: "quiet" }, "Run") : null;
  if (type === "conversation.completed") return el("li", { class: "item end succeeded" }, endWords(event), timeOf(ts), link);
  const { code, message } = data.error;
  if (code === "RUN_CANCELED") return el("li", { class: "item end canceled" }, endWords(event), timeOf(ts), link);
  return el(
    "li",
    { class: "item end failed" },
    el("p", { class: "what" }, icon("warn"), el("strong", {}, "The run failed")),
    el("p", { dir: "auto" }, FAILURES[code] ?? message),
    FAILURES[code] ? el("p", { class: "aside" }, message) : null,
    el("footer", {}, el("code", {}, code), timeOf(ts), link),
  );
}

export function notice({ code, message }, ts) {
  return el("li", { class: "item notice" }, icon("warn"), el("span", { title: message }, WARNINGS[code] ?? message), timeOf(ts));
}
