// One open session or run: its stream goes in here, and from here to every part of the page that shows it.

import { addressOf, go } from "./address.js";
import { announce } from "./announcer.js";
import { Unreachable, get, path, post } from "./api.js";
import { Connection } from "./connection.js";
import { byId, el } from "./dom.js";
import { inheritedBy, promptIndex } from "./transcript.js";
import { Thread, forkMark } from "./thread.js";
import { TERMINAL } from "./words.js";

const RETRY_MS = 1000;

export const drafts = new Map(); // session id -> a text to begin with

export class Conversation {
  /** `page`: the parts that live as long as the page does. */
  constructor({ kind, id }, page) {
    this.kind = kind;
    this.id = id;
    this.page = page;
    this.isSession = kind === "sessions";
    this.activeRun = null;
    this.closed = false;
    this.thread = new Thread(byId("thread"), {
      fork: this.isSession ? (...from) => this.#fork(...from) : null,
      addressOfRun: this.isSession ? (runId) => addressOf("runs", runId) : null,
    });
  }

  async open() {
    const view = await this.#patiently(() => get(path(this.kind, this.id))).catch((error) => this.#absent(error));
    if (this.left || !view) return;
    this.view = view;
    this.inherited = this.isSession ? await this.#patiently(() => inheritedBy(view)) : null;
    if (this.left) return;
    this.page.header.show(view.prompt_preview, this.#sort);
    this.page.composer.reset(this.isSession ? this.id : null, drafts.get(this.id));
    drafts.delete(this.id);
    this.connection = new Connection(`${path(this.kind, this.id)}/${this.isSession ? "stream" : "events"}`, this);
  }

  leave() {
    this.left = true;
    this.connection?.close();
    this.thread.leave();
  }

  cancel() {
    return post(`${path(this.kind, this.id)}/cancel`);
  }

  close() {
    return post(`${path(this.kind, this.id)}/close`);
  }

  get #sort() {
    if (!this.isSession) return "run";
    return this.view.parent_session_id === null ? "session" : "fork";
  }

  /** A server that is away for a while is waited for. */
  async #patiently(request) {
    for (;;) {
      try {
        const answer = await request();
        if (!this.left) byId("connection").hidden = true;
        return answer;
      } catch (error) {
        if (this.left || !(error instanceof Unreachable || error.status >= 500)) throw error;
        this.lost();
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  #absent(error) {
    if (error.status !== 404) throw error;
    this.page.header.show("Not found", null);
    this.page.inspector.reset(null);
    byId("thread").replaceChildren(el("li", { class: "item mark" }, error.message));
  }

  // What the connection tells.

  frame({ event, data }) {
    switch (event) {
      case "snapshot":
        this.#snapshot(data);
        break;
      case "chat_event":
        this.#event(data);
        break;
      case "delta":
        this.thread.delta({ run_id: this.id, ...data });
        break;
      case "status":
        this.page.status.show(data);
        break;
      case "queue":
        this.page.queue.show(data.items);
        break;
    }
  }

  lost() {
    if (!byId("connection").hidden) return;
    byId("connection").hidden = false;
    this.page.status.show(null); // nobody knows it now
    announce("The connection is lost. Trying again.");
  }

  back() {
    byId("connection").hidden = true;
    announce("Connected again.");
  }

  refused(problem) {
    this.page.report(problem);
  }

  over() {
    return this.isSession ? this.closed : TERMINAL.has(this.runState);
  }

  #snapshot(snapshot) {
    this.snapshot = snapshot;
    this.page.status.show(snapshot.status ?? null);
    if (this.isSession) {
      this.closed = snapshot.state === "closed";
      this.page.queue.show(snapshot.queue ?? []);
      this.page.composer.setClosed(this.closed);
    }
    if (snapshot.last_seq > this.connection.cursor || this.inherited) this.thread.hold();
    if (snapshot.last_seq <= this.connection.cursor) this.#settle();
  }

  #event(event) {
    this.#follow(event);
    try {
      this.thread.apply(event);
      this.page.inspector.apply(event);
    } finally {
      // An event that cannot be drawn does not keep back the others.
      if (this.connection.cursor === this.snapshot.last_seq) this.#settle();
      else if (this.connection.cursor > this.snapshot.last_seq) this.#show(event);
    }
  }

  #follow({ type, run_id: runId, data }) {
    if (type === "conversation.started") {
      [this.activeRun, this.lastRun, this.runState] = [runId, runId, "queued"];
      this.firstPrompt ??= data.prompt;
    } else if (type === "conversation.state.changed") this.runState = data.to;
    else if (type === "conversation.completed" || type === "conversation.failed") this.activeRun = null;
  }

  /** Everything that had happened before this connection is here. */
  #settle() {
    if (this.inherited) {
      const own = new Set(this.thread.runs.keys());
      const shown = this.inherited.filter((entry) => !own.has(entry.run_id));
      this.thread.showInherited(shown, this.view.parent_session_id && forkMark(addressOf("sessions", this.view.parent_session_id)));
      this.inherited = null;
    }
    this.thread.settle();
    const { message } = this.snapshot;
    if (message) this.thread.write(message.run_id ?? this.id, message);
    this.#showState();
    this.page.inspector.show(this.lastRun ?? (this.isSession ? null : this.id));
  }

  #show({ type, run_id: runId }) {
    this.#showState();
    if (type === "conversation.started" || type === "conversation.state.changed") this.page.inspector.show(runId);
    if (type !== "assistant.message.final") this.page.sidebar.refreshSoon();
  }

  #showState() {
    const state = this.activeRun || !this.isSession ? this.runState : this.closed ? "closed" : "open";
    this.page.header.showState(state ?? "queued", { active: this.activeRun !== null, closable: this.isSession && !this.closed });
    this.page.sidebar.showState(this.id, state ?? "queued");
    if (this.isSession) {
      this.page.header.show(this.view.prompt_preview || this.firstPrompt, this.#sort);
      this.page.composer.showState(this.activeRun && this.runState);
    }
  }

  #fork(runId, text, entryIndex) {
    return this.page.tried(async () => {
      const index = entryIndex ?? (await promptIndex(this.id, runId));
      const { session_id: forked } = await post(`${path("sessions", this.id)}/fork`, { from_user_entry_index: index });
      drafts.set(forked, text);
      this.page.sidebar.refreshSoon();
      go("sessions", forked);
    });
  }
}
