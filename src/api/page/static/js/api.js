// Requests to the API. What it refuses is thrown as a Problem, with its code.

export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? "The server could not answer.");
    this.status = status;
    this.code = body.code ?? "UNKNOWN";
    this.body = body;
  }
}

export class Unreachable extends Error {
  constructor() {
    super("The server cannot be reached.");
  }
}

/** Hears "reached" whenever the server answers, whatever the answer is. */
export const server = new EventTarget();

export async function reach(path, options) {
  const response = await fetch(path, options);
  server.dispatchEvent(new Event("reached"));
  return response;
}

export const get = (path) => request("GET", path);
export const post = (path, body = {}) => request("POST", path, body);
export const del = (path) => request("DELETE", path);

async function request(method, path, body) {
  const options = { method, headers: { accept: "application/json" } };
  if (body !== undefined) {
    options.headers["content-type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await reach(path, options);
  } catch {
    throw new Unreachable();
  }
  if (!response.ok) throw await problemOf(response);
  return response.json();
}

export async function problemOf(response) {
  return new Problem(response.status, await response.json().catch(() => ({})));
}

/** A path with its parts escaped: ids may be any printable text. */
export function path(...parts) {
  return `/v1/${parts.map(encodeURIComponent).join("/")}`;
}

/** A name for a request, so that it can be sent again without being taken twice. */
export function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
