// Form fields from a JSON Schema, as far as plain inputs go; what they cannot express is written as JSON.

import { el } from "./dom.js";
import { nameText } from "./words.js";

const FORMATS = { date: "date", email: "email", uri: "url", url: "url", time: "time" };

let made = 0;

/** One labelled field. `read()` gives its value, or undefined when an optional one was left empty. */
export class Field {
  constructor(name, schema = {}, { required = true, value, label, placeholder } = {}) {
    this.name = name;
    this.schema = typeof schema === "object" && schema !== null ? schema : {};
    this.required = required;
    this.id = `field-${++made}`;
    this.input = this.#input(value ?? this.schema.default, placeholder);
    this.element = this.#labelled(label ?? this.schema.title ?? nameText(name));
  }

  get #type() {
    const type = this.schema.type ?? "string";
    return Array.isArray(type) ? type.find((each) => each !== "null") : type;
  }

  read() {
    if (this.schema.enum) return this.input.value === "" ? undefined : this.schema.enum[Number(this.input.value)];
    if (this.#type === "boolean") return this.input.checked;
    const text = this.input.value;
    if (text.trim() === "") return undefined;
    if (this.#type === "string") return text;
    if (this.#type === "number" || this.#type === "integer") return Number(text);
    return JSON.parse(text);
  }

  /** Says what the server found wrong with it. */
  refuse(message) {
    this.input.setAttribute("aria-invalid", "true");
    this.input.setAttribute("title", message);
    const mended = () => ["aria-invalid", "title"].forEach((name) => this.input.removeAttribute(name));
    this.input.addEventListener("input", mended, { once: true });
  }

  #input(value, placeholder) {
    const attributes = { id: this.id, name: this.name, required: this.required && this.#type !== "boolean" };
    if (this.schema.description) attributes["aria-describedby"] = `${this.id}-hint`;
    if (placeholder) attributes.placeholder = placeholder;
    if (this.schema.enum) return choice(attributes, this.schema.enum, value);
    switch (this.#type) {
      case "boolean":
        return el("input", { ...attributes, type: "checkbox", checked: value === true });
      case "integer":
      case "number":
        return el("input", { ...attributes, ...numberBounds(this.schema, this.#type), value });
      case "string":
        return textInput(attributes, this.schema, value);
      default:
        return jsonInput(attributes, value);
    }
  }

  #labelled(label) {
    const name = el("label", { for: this.id, dir: "auto" }, label, this.required ? null : el("span", { class: "optional" }, "optional"));
    const { description } = this.schema;
    const hint = description ? el("p", { class: "hint", id: `${this.id}-hint`, dir: "auto" }, description) : null;
    const parts = this.#type === "boolean" && !this.schema.enum ? [this.input, name] : [name, this.input];
    return el("div", { class: this.input.type === "checkbox" ? "field check" : "field" }, ...parts, hint);
  }
}

function choice(attributes, values, value) {
  const options = values.map((each, index) => el("option", { value: index, selected: each === value, dir: "auto" }, String(each)));
  return el("select", attributes, el("option", { value: "" }, "Choose …"), ...options);
}

function numberBounds(schema, type) {
  return {
    type: "number",
    step: type === "integer" ? 1 : "any",
    min: schema.minimum,
    max: schema.maximum,
    inputmode: type === "integer" ? "numeric" : "decimal",
  };
}

function textInput(attributes, schema, value) {
  const shared = { ...attributes, dir: "auto", minlength: schema.minLength, maxlength: schema.maxLength };
  if (schema.format === "textarea" || schema.maxLength > 200) {
    return el("textarea", { ...shared, rows: 4 }, value ?? "");
  }
  return el("input", { ...shared, type: FORMATS[schema.format] ?? "text", value, autocomplete: "off" });
}

function jsonInput(attributes, value) {
  const area = el("textarea", { ...attributes, rows: 3, class: "code", spellcheck: "false" });
  area.value = value === undefined ? "" : JSON.stringify(value, null, 2);
  area.addEventListener("input", () => area.setCustomValidity(isJson(area.value) ? "" : "This must be JSON."));
  return area;
}

function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return text.trim() === "";
  }
}
