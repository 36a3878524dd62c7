// Every word for people that stands for a value of the protocol.

export const STATES = {
  queued: "Queued",
  running: "Running",
  waiting_user: "Waiting for you",
  succeeded: "Succeeded",
  failed: "Failed",
  canceled: "Canceled",
  open: "Open",
  closed: "Closed",
};

/** What is called after its prompt, when it has none. */
export const NAMELESS = {
  session: "New session",
  fork: "Fork",
  run: "Run without a prompt",
  home: "New conversation",
  opening: "Opening …",
};

export const TERMINAL = new Set(["succeeded", "failed", "canceled"]);

export const SOURCES = {
  prompt: "Message",
  prompt_follow_up: "Follow-up",
  follow_up: "Follow-up",
  steer: "Steer",
};

/** Any JSON value as a person reads it in a sentence. */
export function valueText(value) {
  if (value === true) return "Yes";
  if (value === false) return "No";
  if (value === null || value === undefined) return "nothing";
  return typeof value === "object" ? JSON.stringify(value, null, 1).replace(/\s*\n\s*/g, " ") : String(value);
}

/** `due_date` as `Due date`. */
export function nameText(name) {
  const words = name.replace(/[_-]+/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
