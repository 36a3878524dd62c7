// An agent's text with the little markup that agents write: paragraphs, headings, lists, quotes, code, emphasis, links.
// It is made of elements and text nodes only.

import { el } from "./dom.js";

const FENCE = /^\s*```(.*)$/;
const HEADING = /^(#{1,4})\s+(.*)$/;
const BULLET = /^\s*[-*•]\s+(.*)$/;
const NUMBER = /^\s*(\d{1,4})[.)]\s+(.*)$/;
const QUOTE = /^\s*>[>\s]*(.*)$/; // a quote in a quote is one quote: how deep a text goes is not up to its writer
const EMPHASIS = /(?<![\w*])\*(?![\s*])([^*\n]*[^*\s])\*(?![\w*])/; // not the stars of 2*3*4, nor of * alone *
const INLINE = new RegExp(
  [
    /`([^`\n]+)`/,
    /\*\*([^*\n]+)\*\*/,
    EMPHASIS,
    /\[([^\]\n]+)\]\((https?:\/\/[^\s)]+)\)/,
    /(https?:\/\/[^\s<>"')\]]*[^\s<>"')\].,;:!?])/,
  ]
    .map((each) => each.source)
    .join("|"),
  "g",
);

export class Prose {
  constructor() {
    this.element = el("div", { class: "prose" });
    this.#restart();
  }

  /** Of a text that grew, only what is not finished yet is read again, and only what changed is drawn again. */
  show(text) {
    if (!text.startsWith(this.finished)) this.#restart();
    const unfinished = text.slice(this.finished.length);
    const blocks = blocksOf(unfinished);
    const sources = blocks.map(({ kind, lines, start }) => JSON.stringify([kind, lines, start]));
    let same = 0;
    while (same < sources.length && sources[same] === this.sources[same]) same++;
    while (this.element.childElementCount > this.count + same) this.element.lastElementChild.remove();
    this.element.append(...blocks.slice(same).map(rendered));
    this.sources = sources;
    this.#finish(text, unfinished, blocks);
  }

  #restart() {
    this.element.replaceChildren();
    this.finished = ""; // the text of the blocks that no further text can change,
    this.count = 0; // their number,
    this.sources = []; // and the source of each block after them
  }

  /** More text can change the last block that has a whole line, because its next line may belong to it. */
  #finish(text, unfinished, blocks) {
    const lastLine = unfinished.lastIndexOf("\n") + 1;
    const last = blocks.findLastIndex(({ at }) => at < lastLine);
    if (last < 1) return;
    this.finished = text.slice(0, this.finished.length + blocks[last].at);
    this.count += last;
    this.sources = this.sources.slice(last);
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
  let at = 0;
  const begin = (kind, more) => blocks.push((open = { kind, at, lines: [], ...more }));
  const add = (kind, line, more) => {
    if (open?.kind !== kind || kind === "heading") begin(kind, more);
    open.lines.push(line);
  };
  for (const line of text.split("\n")) {
    const fence = FENCE.exec(line);
    if (open?.kind === "code") {
      if (fence) open = null;
      else open.lines.push(line);
    } else if (fence) begin("code");
    else if (!line.trim()) open = null;
    else if (HEADING.test(line)) add("heading", HEADING.exec(line)[2]);
    else if (BULLET.test(line)) add("bullets", BULLET.exec(line)[1]);
    else if (NUMBER.test(line)) add("numbers", NUMBER.exec(line)[2], { start: NUMBER.exec(line)[1] });
    else if (QUOTE.test(line)) add("quote", QUOTE.exec(line)[1]);
    else add("paragraph", line);
    at += line.length + 1;
  }
  return blocks;
}

function rendered({ kind, lines, start }) {
  switch (kind) {
    case "code":
      return el("pre", { tabindex: "0" }, el("code", {}, lines.join("\n")));
    case "heading":
      return el("p", { class: "heading", dir: "auto" }, ...inline(lines[0]));
    case "bullets":
      return el("ul", { dir: "auto" }, ...lines.map((line) => el("li", {}, ...inline(line))));
    case "numbers":
      return el("ol", { start, dir: "auto" }, ...lines.map((line) => el("li", {}, ...inline(line))));
    case "quote":
      return el("blockquote", { dir: "auto" }, ...blocksOf(lines.join("\n")).map(rendered));
    default:
      return el("p", { dir: "auto" }, ...inline(lines.join("\n")));
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

function marked([, code, strong, emphasis, label, target, bare]) {
  if (code) return el("code", {}, code);
  if (strong) return el("strong", {}, ...inline(strong));
  if (emphasis) return el("em", {}, ...inline(emphasis));
  return el("a", { href: target ?? bare, target: "_blank", rel: "noreferrer noopener" }, label ?? bare);
}
