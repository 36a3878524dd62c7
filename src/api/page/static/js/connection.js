// A stream that is followed across broken connections: it resumes after the last event that arrived.

import { Problem } from "./api.js";
import { frames } from "./sse.js";

const PAUSES_MS = [100, 300, 700, 1500, 3000, 5000];
const UNNOTICED_MS = 600; // a break shorter than this is nobody's concern
const HIDDEN_MS = 15_000; // a browser has few connections to one server: a hidden page gives its own back

export class Connection {
  /** `listener`: `frame(frame)`, `lost()`, `back()`, `refused(problem)`, and `over()`: whether an end is the end. */
  constructor(address, listener) {
    this.address = address;
    this.listener = listener;
    this.cursor = 0;
    this.closed = new AbortController();
    this.lost = false;
    this.#follow();
  }

  close() {
    this.closed.abort();
    clearTimeout(this.notice);
  }

  async #follow() {
    for (let failures = 0; !this.closed.signal.aborted; failures++) {
      await shown(this.closed.signal);
      try {
        for await (const frame of this.#connection()) {
          failures = 0;
          this.#arrived(frame);
        }
        if (this.listener.over()) return;
      } catch (error) {
        if (this.closed.signal.aborted) return;
        if (error instanceof Problem && error.status < 500) {
          this.listener.refused(error);
          return;
        }
      }
      if (this.closed.signal.aborted) return;
      if (!document.hidden) this.#missed();
      await pause(PAUSES_MS[Math.min(failures, PAUSES_MS.length - 1)] * (0.75 + Math.random() / 2));
    }
  }

  async *#connection() {
    const leaving = new AbortController();
    let timer;
    const watch = () => {
      clearTimeout(timer);
      if (document.hidden) timer = setTimeout(() => leaving.abort(), HIDDEN_MS);
    };
    const close = () => leaving.abort();
    document.addEventListener("visibilitychange", watch);
    this.closed.signal.addEventListener("abort", close);
    try {
      yield* frames(`${this.address}?cursor=${this.cursor}`, leaving.signal);
    } finally {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", watch);
      this.closed.signal.removeEventListener("abort", close);
    }
  }

  #arrived(frame) {
    if (this.closed.signal.aborted) return;
    if (frame.event === "snapshot") this.#restored();
    if (frame.event === "chat_event") {
      const seq = Number(frame.id);
      if (seq <= this.cursor) return;
      this.cursor = seq;
    }
    try {
      this.listener.frame(frame);
    } catch (error) {
      reportError(error); // what cannot be drawn is a fault of the page: the connection is as good as before
    }
  }

  #missed() {
    this.notice ??= setTimeout(() => {
      this.lost = true;
      this.listener.lost();
    }, UNNOTICED_MS);
  }

  #restored() {
    clearTimeout(this.notice);
    this.notice = undefined;
    if (this.lost) this.listener.back();
    this.lost = false;
  }
}

/** Waits, but not longer than until the machine is online again. */
function pause(ms) {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    addEventListener("online", done);
    function done() {
      clearTimeout(timer);
      removeEventListener("online", done);
      resolve();
    }
  });
}

function shown(signal) {
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
    look();
  });
}
