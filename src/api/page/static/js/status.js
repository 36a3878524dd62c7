// The status line at the composer. It says what the server's status says and nothing of its own.

import { announce } from "./announcer.js";
import { clockTime } from "./clock.js";
import { byId, say } from "./dom.js";

// status, or status and reason -> the sentence. What has no line of its own falls back on its status.
const SENTENCES = {
  accepted: "Received. The agent has not started yet.",
  awaiting_output: "The agent is at work. No output yet.",
  "awaiting_output acceptance_expired": "Received, and still waiting for the agent to start.",
  "awaiting_output question_decided": "Nobody answered in time. The agent goes on by itself.",
  active_output: "The agent is at work.",
  stalled: "No output since {activity}. The agent may be stuck.",
  completed: "Done.",
  "completed idle": "Ready when you are.",
  "completed question_asked": "The agent waits for your answer.",
  error: "The run failed.",
  closed: "Canceled.",
  "closed session_closed": "This session is closed.",
};

const WORTH_ANNOUNCING = new Set(["stalled"]);

export class StatusLine {
  constructor() {
    this.line = byId("status");
    this.words = byId("status-words");
    this.show(null);
  }

  show(status) {
    this.line.hidden = !status;
    if (!status) return;
    const sentence = SENTENCES[`${status.status} ${status.reason}`] ?? SENTENCES[status.status];
    const activity = status.last_activity_at ?? status.timestamp;
    const text = sentence.replace("{activity}", clockTime(activity));
    const changed = this.line.dataset.status !== status.status;
    this.line.dataset.status = status.status;
    this.line.dataset.reason = status.reason ?? "";
    this.line.dataset.since = status.timestamp;
    say(this.words, text);
    if (changed && WORTH_ANNOUNCING.has(status.status)) announce(text);
  }
}
