// An agent's text with the little markup that agents write: paragraphs, headings, lists, code, emphasis, links.
// It is made of elements and text nodes only. While a text grows, blocks that are finished are left alone.

import { el } from "./dom.js";

const FENCE = /^\s*```(.*)$/;
const HEADING = /^(#{1,4})\s+(.*)$/;
const BULLET = /^\s*[-*•]\s+(.*)$/;
const NUMBER = /^\s*(\d{1,4})[.)]\s+(.*)$/;
const INLINE = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\[([^\]\n]+)\]\((https?:\/\/[^\s)]+)\)|(https?:\/\/[^\s<>"')\]]*[^\s<>"')\].,;:!?])/g;

export class Prose {
  constructor() {
    this.element = el("div", { class: "prose" });
    this.sources = [];
  }

  show(text) {
    const blocks = blocksOf(text);
    const keys = blocks.map((block) => JSON.stringify(block));
    let same = 0;
    while (same < keys.length && keys[same] === this.sources[same]) same++;
    while (this.element.childElementCount > same) this.element.lastElementChild.remove();
    this.element.append(...blocks.slice(same).map(rendered));
    this.sources = keys;
  }
}

export function prose(text) {
  const made = new Prose();
  made.show(text);
  return made.element;
}

function blocksOf(text) {
  const blocks = [];
  let open = null;
  const add = (kind, line, more = {}) => {
    if (open?.kind !== kind || kind === "heading") blocks.push((open = { kind, lines: [], ...more }));
    open.lines.push(line);
  };
  for (const line of text.split("\n")) {
    const fence = FENCE.exec(line);
    if (open?.kind === "code") {
      if (fence) open = null;
      else open.lines.push(line);
    } else if (fence) blocks.push((open = { kind: "code", lines: [] }));
    else if (!line.trim()) open = null;
    else if (HEADING.test(line)) add("heading", HEADING.exec(line)[2]);
    else if (BULLET.test(line)) add("bullets", BULLET.exec(line)[1]);
    else if (NUMBER.test(line)) add("numbers", NUMBER.exec(line)[2], { start: NUMBER.exec(line)[1] });
    else add("paragraph", line);
  }
  return blocks;
}

function rendered({ kind, lines, start }) {
  switch (kind) {
    case "code":
      return el("pre", { tabindex: "0" }, el("code", {}, lines.join("\n")));
    case "heading":
      return el("p", { class: "heading" }, ...inline(lines[0]));
    case "bullets":
      return el("ul", {}, ...lines.map((line) => el("li", {}, ...inline(line))));
    case "numbers":
      return el("ol", { start }, ...lines.map((line) => el("li", {}, ...inline(line))));
    default:
      return el("p", {}, ...inline(lines.join("\n")));
  }
}

function inline(text) {
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(INLINE)) {
    parts.push(text.slice(end, found.index), marked(found));
    end = found.index + found[0].length;
  }
  parts.push(text.slice(end));
  return parts;
}

function marked([, code, strong, label, target, bare]) {
  if (code) return el("code", {}, code);
  if (strong) return el("strong", {}, strong);
  return el("a", { href: target ?? bare, target: "_blank", rel: "noreferrer noopener" }, label ?? bare);
}
