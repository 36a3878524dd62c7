// Server-Sent Events read by hand: EventSource hides why and when a connection broke.

import { problemOf, reach } from "./api.js";
import { heardFromServer } from "./clock.js";

const SILENCE_MS = 25_000; // the server says something at least every 10 s

/** The frames of one connection, until the server ends it; throws when it breaks or falls silent. */
export async function* frames(url, signal) {
  const attempt = new AbortController();
  const stop = () => attempt.abort();
  signal.addEventListener("abort", stop);
  let alarm = setTimeout(stop, SILENCE_MS);
  try {
    const response = await reach(url, { signal: attempt.signal, cache: "no-store" });
    if (!response.ok) throw await problemOf(response);
    heardFromServer(response.headers.get("date"));
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(alarm);
      alarm = setTimeout(stop, SILENCE_MS);
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) yield parsed(block);
    }
  } finally {
    clearTimeout(alarm);
    signal.removeEventListener("abort", stop);
    attempt.abort();
  }
}

function parsed(block) {
  const fields = { id: null, event: "message", data: "" };
  for (const line of block.split("\n")) {
    const colon = line.indexOf(": ");
    fields[line.slice(0, colon)] = line.slice(colon + 2);
  }
  return { id: fields.id, event: fields.event, data: JSON.parse(fields.data) };
}
