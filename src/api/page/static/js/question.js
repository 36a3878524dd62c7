// A question of the agent: as a form while it is open, as a record of who decided what afterwards.

import { Problem, Unreachable, newId, path, post, server } from "./api.js";
import { Deadline } from "./deadline.js";
import { el } from "./dom.js";
import { Field } from "./fields.js";
import { attend, rest } from "./focus.js";
import { prose } from "./prose.js";
import { riskControls } from "./risk.js";
import { nameText, valueText } from "./words.js";

const UNFIT = /^the response does not fit response_schema at '\/(.*?)': /;
const LOST = new Set(["INTERACTION_ALREADY_ANSWERED", "INTERACTION_STALE", "RUN_NOT_WAITING"]);

export class Question {
  constructor(runId, asked, strict) {
    this.runId = runId;
    this.asked = asked;
    this.options = optionsOf(asked);
    this.strict = strict;
    this.id = `question-${runId}-${asked.interaction_id}`;
    this.sent = new Map(); // answer -> reply id: what was not delivered is sent again under its name
    this.card = el("div", { class: "card" });
    this.element = el("li", { class: "item question", "data-kind": asked.kind, id: this.id }, this.card);
    const prompt = prose(asked.prompt);
    prompt.id = `${this.id}-prompt`;
    this.card.append(el("h3", {}, "The agent asks"), prompt);
    if (asked.context) {
      const context = JSON.stringify(asked.context, null, 2);
      this.card.append(el("details", { class: "context" }, el("summary", {}, "Context"), el("pre", { tabindex: "0" }, context)));
    }
  }

  get isOpen() {
    return this.form !== undefined;
  }

  open() {
    if (this.isOpen || this.resolved) return;
    this.deadline = new Deadline({ ...this.asked, options: this.options }, this.strict);
    this.trouble = el("p", { class: "trouble", role: "alert" });
    this.form = el("form", { "aria-labelledby": `${this.id}-prompt`, onsubmit: (event) => this.#submitted(event) });
    this.form.append(...this.#controls(), this.trouble);
    this.card.append(this.form, this.deadline.element);
    this.element.classList.add("open");
    attend();
  }

  /** Somebody's reply was accepted. */
  answered({ reply_id, response }) {
    const mine = [...this.sent.values()].includes(reply_id);
    const lost = this.sent.size > 0 && !mine;
    const note = lost ? "Somebody else answered first. Your answer was not used." : null;
    this.#resolve(mine ? "You answered" : "Answered", this.#label(response), note);
  }

  /** The deadline decided. */
  decided({ policy, response }) {
    if (policy === "use_default") this.#resolve("Nobody answered in time. The default was taken", this.#label(response));
    else this.#resolve("Nobody answered in time. The agent was told to decide", null);
  }

  /** The run ended, and nobody needs an answer any more. */
  lapse() {
    this.#resolve("Not answered", null);
  }

  leave() {
    this.deadline?.stop();
  }

  #resolve(how, answer, note = null) {
    if (this.resolved) return;
    this.resolved = true;
    this.deadline?.stop();
    this.form?.remove();
    if (this.form && document.activeElement === document.body) rest();
    this.deadline?.element.remove();
    this.form = undefined;
    this.element.classList.remove("open");
    this.card.append(el("p", { class: "answer" }, el("span", { class: "how" }, answer === null ? `${how}.` : `${how}:`), answer === null ? null : el("strong", { dir: "auto" }, answer)));
    if (note) this.card.append(el("p", { class: "note", role: "status" }, note));
  }

  #label(response) {
    const option = this.options.find((each) => each.value === response);
    if (option) return option.label;
    if (response !== null && typeof response === "object" && !Array.isArray(response)) {
      const title = (name) => this.asked.response_schema?.properties?.[name]?.title ?? nameText(name);
      return Object.entries(response).map(([name, value]) => `${title(name)}: ${valueText(value)}`).join(" · ");
    }
    return valueText(response);
  }

  #controls() {
    const { kind } = this.asked;
    if (kind === "risk_ack") return riskControls(this.id, this.options, this.#choices());
    if (kind === "choose_one" || kind === "confirm") return [this.#choices()];
    return this.#fieldControls(kind === "fill_fields" ? fieldsOf(this.asked) : [this.#textField()]);
  }

  #choices() {
    const many = this.options.length > 5 || this.options.some((option) => option.label.length > 40);
    const buttons = this.options.map((option) => {
      const usual = this.asked.default !== null && option.value === this.asked.default;
      const mark = usual ? el("span", { class: "tag" }, "default") : null;
      const attributes = { type: "button", class: "choice", dir: "auto", onclick: () => this.#send(option.value) };
      return el("button", attributes, option.label, mark);
    });
    const attributes = { class: many ? "choices many" : "choices", role: "group", "aria-labelledby": `${this.id}-prompt` };
    return el("div", { ...attributes, onkeydown: ignoreHeld }, ...buttons);
  }

  #textField() {
    const { response_schema: schema, ui_hints: hints } = this.asked;
    const described = schema && typeof schema === "object" ? schema : { format: "textarea" };
    const placeholder = typeof hints.placeholder === "string" ? hints.placeholder : undefined;
    return new Field("answer", described, { label: "Your answer", placeholder, value: this.asked.default ?? undefined });
  }

  #fieldControls(fields) {
    this.fields = fields;
    for (const { input } of fields) {
      if (input.tagName === "TEXTAREA") input.addEventListener("keydown", (event) => submitOnEnter(event, this.form));
    }
    return [...fields.map((field) => field.element), el("button", { type: "submit", class: "primary" }, "Send answer")];
  }

  #submitted(event) {
    event.preventDefault();
    if (!this.fields) return;
    if (this.asked.kind !== "fill_fields") {
      this.#send(this.fields[0].read());
      return;
    }
    const answers = this.fields.map((field) => [field.name, field.read()]).filter(([, value]) => value !== undefined);
    this.#send(Object.fromEntries(answers));
  }

  async #send(response) {
    const key = JSON.stringify(response);
    if (!this.sent.has(key)) this.sent.set(key, newId());
    const pressed = document.activeElement;
    const controls = [...this.form.querySelectorAll("button, input, select, textarea")].filter((each) => !each.disabled);
    controls.forEach((control) => (control.disabled = true));
    this.trouble.textContent = "";
    const body = { interaction_id: this.asked.interaction_id, response, reply_id: this.sent.get(key) };
    try {
      await post(`${path("runs", this.runId)}/interaction/reply`, body);
    } catch (error) {
      if (this.resolved) return;
      if (error instanceof Problem && LOST.has(error.code)) {
        this.trouble.textContent = "Somebody else answered first. Your answer was not used.";
        return; // the stream brings the answer that won
      }
      if (error instanceof Problem && error.status < 500) this.sent.delete(key);
      controls.forEach((control) => (control.disabled = false));
      this.#refused(error, pressed);
    }
  }

  #refused(error, pressed) {
    this.trouble.textContent = `Not sent: ${error.message}`;
    if (error instanceof Unreachable) {
      server.addEventListener("reached", () => (this.trouble.textContent = ""), { once: true });
    }
    const faulty = error.code === "RESPONSE_INVALID" ? this.#faulty(error) : [];
    for (const field of faulty) field.refuse(error.message);
    (faulty[0]?.input ?? pressed).focus();
  }

  #faulty({ message, body }) {
    if (!this.fields || this.asked.kind !== "fill_fields") return this.fields ?? [];
    const where = UNFIT.exec(message)?.[1];
    const isNamed = ({ name }) => body.missing?.includes(name) || where === name || where?.startsWith(`${name}/`);
    return this.fields.filter(isNamed);
  }
}

function fieldsOf({ required_fields: required, response_schema: schema, default: value }) {
  const properties = (typeof schema === "object" && schema?.properties) || {};
  const needed = new Set([...required, ...((typeof schema === "object" && schema?.required) || [])]);
  const names = [...new Set([...needed, ...Object.keys(properties)])];
  return names.map((name) => new Field(name, properties[name], { required: needed.has(name), value: value?.[name] }));
}

const YES_AND_NO = { confirm: ["Yes", "No"], risk_ack: ["Accept the risk", "Refuse"] };

function optionsOf({ kind, options }) {
  const [yes, no] = YES_AND_NO[kind] ?? [];
  return options.length > 0 || !yes ? options : [{ label: yes, value: true }, { label: no, value: false }];
}

/** Enter that is held since the last message was sent does not answer the question that came meanwhile. */
function ignoreHeld(event) {
  if (event.repeat && event.key === "Enter") event.preventDefault();
}

/** Enter sends, Shift+Enter makes a new line; while a character is being composed, Enter belongs to that. */
export function submitOnEnter(event, form) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
}
