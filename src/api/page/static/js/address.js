// The page's address: `#/` to start something, `#/sessions/ID`, `#/runs/ID`.

export function current() {
  const [, kind, id] = location.hash.split("/");
  if ((kind === "sessions" || kind === "runs") && id) return { kind, id: decodeURIComponent(id) };
  return { kind: "home", id: null };
}

export const addressOf = (kind, id) => `#/${kind}/${encodeURIComponent(id)}`;

export function go(kind, id) {
  location.hash = addressOf(kind, id).slice(1);
}

export function onChange(listener) {
  addEventListener("hashchange", listener);
}
