// Reading follows the newest line, unless the reader went back to read something else.

import { byId } from "./dom.js";

const NEAR_PX = 80;
const BY_HAND_MS = 1000;
const KEYS = new Set(["ArrowUp", "PageUp", "Home", "Tab", " "]);

export class Scroll {
  constructor() {
    this.area = byId("scroll");
    this.button = byId("newest");
    this.follows = true;
    this.area.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.button.addEventListener("click", () => this.toEnd());
    this.#noticeHands();
    const grown = new ResizeObserver(() => this.#grew());
    grown.observe(byId("thread"));
    grown.observe(this.area);
  }

  toEnd() {
    this.follows = true;
    this.#grew();
  }

  /** The place also moves when something above gets shorter: only a reader's hand means that they want to stay. */
  #noticeHands() {
    this.byHand = -Infinity;
    const notice = () => (this.byHand = performance.now());
    for (const name of ["wheel", "touchmove"]) this.area.addEventListener(name, notice, { passive: true });
    this.area.addEventListener("pointerdown", (event) => event.target === this.area && notice()); // its scroll bar
    this.area.addEventListener("keydown", (event) => KEYS.has(event.key) && notice());
  }

  #grew() {
    if (this.follows) this.area.scrollTop = this.area.scrollHeight;
    this.button.hidden = this.follows;
  }

  #scrolled() {
    const atEnd = this.area.scrollHeight - this.area.scrollTop - this.area.clientHeight < NEAR_PX;
    if (atEnd) this.follows = true;
    else if (performance.now() - this.byHand < BY_HAND_MS) this.follows = false;
    this.button.hidden = this.follows;
  }
}
