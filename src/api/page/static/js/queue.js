// The messages that wait until the agent is done with the present one.

import { del, path } from "./api.js";
import { byId, el, say } from "./dom.js";
import { SOURCES } from "./words.js";

export class Queue {
  constructor(tried) {
    this.area = byId("queue");
    this.list = byId("queue-items");
    this.clear = byId("clear-queue");
    this.clear.addEventListener("click", async () => {
      this.clear.disabled = true;
      await tried(() => del(`${path("sessions", this.sessionId)}/pending`));
      this.clear.disabled = false;
    });
  }

  reset(sessionId) {
    this.sessionId = sessionId;
    this.show([]);
  }

  show(items) {
    const queued = items.filter((item) => item.status === "queued");
    const hadFocus = this.area.contains(document.activeElement);
    this.area.hidden = queued.length === 0;
    say(byId("queue-count"), queued.length === 1 ? "1 message waits" : `${queued.length} messages wait`);
    this.list.replaceChildren(...queued.map(itemOf));
    if (hadFocus && this.area.hidden) byId("message").focus();
  }
}

function itemOf({ source, text_preview: text }) {
  return el("li", {}, el("span", { class: "tag" }, SOURCES[source] ?? source), el("span", { class: "text", dir: "auto" }, text));
}
