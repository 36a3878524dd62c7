// The statechart of a run as a picture: the state it is in is lit, and the way it came is drawn stronger.

import { svg } from "./dom.js";
import { STATES } from "./words.js";

const WIDTH = 112;
const HEIGHT = 38;

const PLACES = {
  queued: [78, 50],
  running: [78, 160],
  waiting_user: [78, 270],
  succeeded: [276, 50],
  failed: [276, 160],
  canceled: [276, 270],
};

// As in contracts/statechart.yaml; a test compares the two.
const TRANSITIONS = [
  ["TR-01", "queued", "turn.started", "running", "M78 69V138"],
  ["TR-02", "running", "turn.needs_input", "waiting_user", "M78 179V248"],
  ["TR-03", "waiting_user", "interaction.reply.accepted", "queued", "M22 264C6 244 6 76 19 59"],
  ["TR-04", "waiting_user", "interaction.auto_decide.timeout", "queued", "M22 276C-12 256 -12 64 19 45"],
  ["TR-05", "running", "turn.succeeded", "succeeded", "M134 148C174 140 176 66 217 55"],
  ["TR-06", "running", "turn.failed", "failed", "M134 156H217"],
  ["TR-07", "waiting_user", "run.canceled", "canceled", "M134 274H217"],
  ["TR-08", "queued", "run.canceled", "canceled", "M134 58C190 78 162 242 217 260"],
  ["TR-09", "running", "run.canceled", "canceled", "M134 172C172 184 174 252 217 267"],
  ["TR-10", "waiting_user", "restart.preserve_waiting", "waiting_user", "M102 289C102 318 56 318 56 292"],
  ["TR-11", "waiting_user", "restart.reconcile_failed", "failed", "M134 260C174 250 178 186 217 175"],
  ["TR-12", "queued", "restart.reconcile_failed", "failed", "M134 48C172 58 176 134 217 149"],
  ["TR-13", "running", "restart.reconcile_failed", "failed", "M134 164H217"],
];

export class Chart {
  constructor() {
    this.states = new Map(Object.keys(PLACES).map((state) => [state, box(state)]));
    this.edges = new Map(TRANSITIONS.map((transition) => [transition[0], edge(...transition)]));
    this.description = svg("title", {});
    this.element = svg(
      "svg",
      { class: "chart", viewBox: "-6 0 344 322", role: "img" },
      this.description,
      svg("defs", {}, arrow("arrow"), arrow("arrow-taken")),
      svg("circle", { class: "entry", cx: 78, cy: 10, r: 4 }),
      svg("path", { class: "edge begin", d: "M78 14V28", "marker-end": "url(#arrow)" }),
      ...this.edges.values(),
      ...this.states.values(),
    );
  }

  /** `path`: the changes of state so far, as the log has them. */
  show(state, path) {
    this.description.textContent = state ? `The run is in the state ${STATES[state]}.` : "The statechart of a run.";
    for (const [name, box] of this.states) {
      box.classList.toggle("lit", name === state);
      box.classList.toggle("passed", path.some((step) => step.from === name || step.to === name));
    }
    const taken = new Set(path.map((step) => idOf(step)));
    const last = path.length > 0 ? idOf(path.at(-1)) : null;
    for (const [id, edge] of this.edges) {
      edge.classList.toggle("taken", taken.has(id));
      edge.classList.toggle("last", id === last);
      edge.setAttribute("marker-end", taken.has(id) ? "url(#arrow-taken)" : "url(#arrow)");
      if (taken.has(id)) edge.parentNode?.insertBefore(edge, this.states.get("queued")); // above the others
    }
  }
}

export function idOf({ from, to, trigger }) {
  return TRANSITIONS.find((each) => each[1] === from && each[2] === trigger && each[3] === to)?.[0];
}

function box(state) {
  const [x, y] = PLACES[state];
  return svg(
    "g",
    { class: `state ${state}`, "data-state": state },
    svg("rect", { x: x - WIDTH / 2, y: y - HEIGHT / 2, width: WIDTH, height: HEIGHT, rx: 9 }),
    svg("text", { x, y: y + 4.5, "text-anchor": "middle" }, STATES[state]),
  );
}

function edge(id, from, event, to, d) {
  const attributes = { class: "edge", d, "data-transition": id, "data-from": from, "data-event": event, "data-to": to };
  return svg("path", attributes, svg("title", {}, `${id} ${event}`));
}

function arrow(id) {
  return svg(
    "marker",
    { id, viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", orient: "auto" },
    svg("path", { d: "M0 0.5 7 4 0 7.5z" }),
  );
}
