// Making elements. Text only ever enters the document as text.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Changes an element's text only when it is another one: what did not change is not painted or read out again. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const ICONS = {
  menu: "M4 7h16M4 12h16M4 17h16",
  plus: "M12 5v14M5 12h14",
  send: "M12 19V5M6 11l6-6 6 6",
  fork: "M6 4v8a4 4 0 0 0 4 4h8M14 12l4 4-4 4M6 12v8",
  close: "M6 6l12 12M18 6L6 18",
  chart: "M4 5h6v5H4zM14 14h6v5h-6zM10 7.5h5a2 2 0 0 1 2 2V14",
  down: "M12 5v14M6 13l6 6 6-6",
  out: "M8 6h10v10M18 6L6 18",
  warn: "M12 9v4.5M12 17h.01M10.3 4.3L2.8 17.5A2 2 0 0 0 4.5 20.5h15a2 2 0 0 0 1.7-3L13.7 4.3a2 2 0 0 0-3.4 0z",
};

export function icon(name) {
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));
}
