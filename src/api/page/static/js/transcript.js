// The parts of a session's transcript that its stream does not tell.

import { get, path } from "./api.js";

const PAGE = 500;

/** What a session began with: the transcript of the session that it was forked from, or what was brought in. */
export async function inheritedBy(session) {
  const isFork = session.parent_session_id !== null; // one that begins before the first message took over nothing
  if (!isFork && (session.total_entries === 0 || session.last_seq > 0)) return null;
  return entries(session.session_id);
}

/** Where in the transcript a run's prompt stands. */
export async function promptIndex(sessionId, runId) {
  const found = (await entries(sessionId)).find(
    (entry) => entry.run_id === runId && entry.role === "user" && entry.interaction_id === undefined,
  );
  return found?.entry_index;
}

async function entries(sessionId) {
  const all = [];
  for (;;) {
    const page = await get(`${path("sessions", sessionId)}/transcript?from_entry=${all.length}&limit=${PAGE}`);
    all.push(...page.entries);
    if (page.entries.length < PAGE) return all;
  }
}
