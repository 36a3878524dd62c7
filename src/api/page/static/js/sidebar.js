// The list on the left: sessions or runs, newest first.

import { addressOf } from "./address.js";
import { get } from "./api.js";
import { age, exactTime } from "./clock.js";
import { byId, el, say } from "./dom.js";
import { NAMELESS, STATES } from "./words.js";

const PAGE = 30;
const MOST = 200; // what the API gives at once
const REFRESH_MS = 5000;
const SOON_MS = 250;

export class Sidebar {
  constructor() {
    this.list = byId("list");
    this.more = byId("more");
    this.rows = new Map();
    this.more.addEventListener("click", () => this.#loadMore());
    for (const kind of ["sessions", "runs"]) byId(`show-${kind}`).addEventListener("change", () => this.show(kind));
    byId("open-sidebar").addEventListener("click", () => this.#setOpen(true));
    byId("close-sidebar").addEventListener("click", () => this.#setOpen(false));
    byId("sidebar").addEventListener("keydown", (event) => event.key === "Escape" && this.#setOpen(false));
    setInterval(() => document.hidden || this.refresh(), REFRESH_MS);
    document.addEventListener("visibilitychange", () => document.hidden || this.refresh());
  }

  /** On a narrow screen the list covers the conversation. */
  #setOpen(open) {
    document.body.classList.toggle("listing", open);
    byId("open-sidebar").setAttribute("aria-expanded", String(open));
    (open ? byId("close-sidebar") : byId("open-sidebar")).focus();
  }

  show(kind) {
    byId(`show-${kind}`).checked = true;
    if (this.kind === kind) return;
    this.kind = kind;
    this.rows.clear();
    this.cursor = null;
    this.list.replaceChildren();
    this.refresh();
  }

  select({ kind, id }) {
    document.body.classList.remove("listing");
    if (kind !== "home") this.show(kind);
    this.selected = id;
    for (const [each, row] of this.rows) row.select(each === id);
    byId("new").toggleAttribute("aria-current", kind === "home");
  }

  /** What the open conversation knows of itself before the next refresh does. */
  showState(id, state) {
    this.rows.get(id)?.showState(state);
  }

  refreshSoon() {
    this.soon ??= setTimeout(() => {
      this.soon = undefined;
      this.refresh();
    }, SOON_MS);
  }

  async refresh() {
    const { kind } = this;
    const limit = Math.min(MOST, Math.max(PAGE, this.rows.size));
    const page = await get(`/v1/${kind}?limit=${limit}`).catch(() => null); // the next refresh may fare better
    if (!page || kind !== this.kind) return;
    if (this.rows.size <= limit) this.#setCursor(page.next_cursor);
    this.#place(page[kind], 0);
    byId("nothing").hidden = this.rows.size > 0;
    say(byId("nothing"), kind === "sessions" ? "No sessions yet." : "No runs yet.");
  }

  async #loadMore() {
    const { kind } = this;
    const page = await get(`/v1/${kind}?limit=${PAGE}&cursor=${encodeURIComponent(this.cursor)}`).catch(() => null);
    if (!page || kind !== this.kind) return;
    this.#setCursor(page.next_cursor);
    this.#place(page[kind], this.rows.size);
  }

  #setCursor(cursor) {
    this.cursor = cursor;
    this.more.hidden = cursor === null;
  }

  /** Rows that are there already stay, with the focus that may be on them; only what changed is written. */
  #place(items, from) {
    items.forEach((item, index) => {
      const id = item.session_id && this.kind === "sessions" ? item.session_id : item.run_id;
      if (!this.rows.has(id)) this.rows.set(id, new Row(this.kind, id));
      const row = this.rows.get(id);
      row.show(item);
      row.select(id === this.selected);
      const there = this.list.children[from + index];
      if (there !== row.element) this.list.insertBefore(row.element, there ?? null);
    });
  }
}

class Row {
  constructor(kind, id) {
    this.title = el("span", { class: "title", dir: "auto" });
    this.state = el("span", { class: "what" });
    this.when = el("time", {});
    this.link = el("a", { href: addressOf(kind, id) }, el("span", { class: "dot" }), this.title, this.state, this.when);
    this.element = el("li", {}, this.link);
    this.id = id;
  }

  show(item) {
    this.showState(item.run_state ?? item.state);
    say(this.title, item.prompt_preview || nameless(item));
    say(this.when, age(item.last_updated_at ?? item.created_at));
    this.when.dateTime = item.created_at;
    this.when.title = exactTime(item.created_at);
  }

  showState(state) {
    this.link.dataset.state = state;
    say(this.state, STATES[state]);
  }

  select(selected) {
    if (selected) this.link.setAttribute("aria-current", "page");
    else this.link.removeAttribute("aria-current");
  }
}

function nameless(item) {
  if (item.parent_session_id) return NAMELESS.fork;
  return item.total_entries === undefined ? NAMELESS.run : NAMELESS.session;
}
