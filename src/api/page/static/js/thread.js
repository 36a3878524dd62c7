// The conversation as it is read: what the log says, in its order, and at the end the message being written.

import { announce } from "./announcer.js";
import { el } from "./dom.js";
import { endOfRun, endWords, notice } from "./ending.js";
import { AgentMessage, userMessage } from "./message.js";
import { Question } from "./question.js";
import { ToolUse } from "./tool.js";
import { valueText } from "./words.js";

export class Thread {
  /**
   * `options.fork(runId, text)` is called when the user forks from a message; without it there is no such button.
   * `options.addressOfRun(runId)` is where a run can be looked at alone; without it nothing leads there.
   */
  constructor(list, options) {
    this.list = list;
    this.fork = options.fork;
    this.addressOfRun = options.addressOfRun;
    list.replaceChildren();
    this.runs = new Map(); // run id -> what the log has said of it so far
    this.questions = new Map();
    this.tools = new Map();
    this.held = null; // while the log is being caught up with, items are gathered here and shown at once
    this.live = null;
  }

  /** From here on nothing is shown until `settle`: nobody sees a question that was answered long ago flash by. */
  hold() {
    this.held ??= document.createDocumentFragment();
  }

  settle() {
    if (this.held) this.list.append(this.held);
    this.held = null;
    this.#openQuestion()?.open();
  }

  /** What the session began with, before everything else, and the mark that says where it came from. */
  showInherited(entries, mark) {
    const own = this.held;
    this.held = document.createDocumentFragment();
    for (const entry of entries) this.#entry(entry);
    if (mark) this.held.append(mark);
    this.held.append(own);
  }

  leave() {
    for (const question of this.questions.values()) question.leave();
  }

  apply(event) {
    const { run_id: runId, data, ts } = event;
    switch (event.type) {
      case "conversation.started":
        this.runs.set(runId, { strict: data.interactive_require_user_reply, turns: 0 });
        if (data.prompt) this.#add(userMessage(data.prompt, ts, this.fork && (() => this.fork(runId, data.prompt))));
        break;
      case "assistant.message.final":
        this.#finish(runId, data, ts);
        break;
      case "tool.call":
        this.#tool(runId, data);
        break;
      case "tool.result":
        this.tools.get(`${runId}/${data.call_id}`)?.finish(data);
        break;
      case "user.input.required":
        this.#ask(runId, data);
        break;
      case "interaction.reply.accepted":
        this.questions.get(`${runId}/${data.interaction_id}`)?.answered(data);
        break;
      case "interaction.auto_decide.timeout":
        this.questions.get(`${runId}/${data.interaction_id}`)?.decided(data);
        break;
      case "diagnostic.warning":
        this.#add(notice(data, ts));
        break;
      case "conversation.completed":
      case "conversation.failed":
        this.#end(event);
        break;
    }
  }

  /** The text of the message being written, so far. */
  write(runId, { message_id: id, text }) {
    this.#writing(runId, id)?.show(text);
  }

  delta({ run_id: runId, message_id: id, offset, text }) {
    this.#writing(runId, id)?.add(offset, text);
  }

  #add(item) {
    if (this.held) this.held.append(item);
    else if (this.live) this.live.element.before(item);
    else this.list.append(item);
  }

  #writing(runId, id) {
    const key = `${runId}/${id}`;
    if (this.runs.get(runId)?.finished?.has(id)) return null;
    if (this.live?.key !== key) {
      this.live?.interrupt();
      const message = new AgentMessage(id);
      this.#add(message.element);
      this.live = message;
      this.live.key = key;
    }
    return this.live;
  }

  #finish(runId, data, ts) {
    const run = this.runs.get(runId);
    if (run) (run.finished ??= new Set()).add(data.message_id);
    let message = this.live;
    if (message?.key === `${runId}/${data.message_id}`) this.live = null;
    else this.#add((message = new AgentMessage(data.message_id)).element);
    message.finish(data, ts);
    if (!this.held) announce(`Agent: ${data.text}`);
  }

  #tool(runId, data) {
    const use = new ToolUse(data);
    this.tools.set(`${runId}/${data.call_id}`, use);
    this.#add(use.element);
  }

  #ask(runId, data) {
    const key = `${runId}/${data.interaction_id}`;
    if (this.questions.has(key)) return; // published again after a restart: it is the same question
    const question = new Question(runId, data, this.runs.get(runId)?.strict ?? true);
    this.questions.set(key, question);
    this.#add(question.element);
    if (this.held) return;
    question.open();
    announce(`The agent asks: ${data.prompt}`);
  }

  #openQuestion() {
    return [...this.questions.values()].at(-1);
  }

  #end(event) {
    if (this.live?.key.startsWith(`${event.run_id}/`)) {
      this.live.interrupt();
      this.live = null;
    }
    for (const [key, question] of this.questions) if (key.startsWith(`${event.run_id}/`)) question.lapse();
    for (const [key, use] of this.tools) if (key.startsWith(`${event.run_id}/`)) use.abandon();
    this.#add(endOfRun(event, this.addressOfRun?.(event.run_id)));
    if (!this.held) announce(endWords(event));
  }

  #entry(entry) {
    if (entry.kind === "tool_call") this.#tool("inherited", entry);
    else if (entry.kind === "tool_output") this.tools.get(`inherited/${entry.call_id}`)?.finish(entry);
    else if (entry.role === "user") {
      const forkable = this.fork && entry.interaction_id === undefined;
      const fork = forkable ? () => this.fork(null, entry.text, entry.entry_index) : null;
      this.#add(userMessage(valueText(entry.text), entry.ts, fork));
    } else {
      const message = new AgentMessage(`inherited-${entry.entry_index}`);
      message.finish(entry, entry.ts);
      this.#add(message.element);
    }
  }
}

/** The line between what a fork took over and what is its own. */
export function forkMark(parentAddress) {
  return el("li", { class: "item mark" }, el("a", { href: parentAddress }, "Forked from an earlier session"));
}
