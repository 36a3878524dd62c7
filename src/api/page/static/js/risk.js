// A risk that the agent asks about: it is taken only by somebody who said that they have read the warning.

import { el, icon } from "./dom.js";

/** `choices`: a button for each option, in the order of the options. */
export function riskControls(id, options, choices) {
  const taking = [...choices.children].filter((_, index) => !declines(options[index], options));
  const warning = el("p", { class: "warning" }, icon("warn"), "This may have consequences that cannot be undone.");
  if (taking.length === 0) return [warning, choices];
  const box = el("input", { type: "checkbox", id: `${id}-risk` });
  const follow = () => taking.forEach((button) => (button.disabled = !box.checked));
  box.addEventListener("change", follow);
  follow();
  taking[0].classList.add("danger");
  const label = el("label", { for: box.id }, "I have read this warning and understand the risk.");
  return [warning, el("div", { class: "field check" }, box, label), choices];
}

/**
 * The value false declines. Where no value is true or false, the last of several options does: agents put the way out
 * at the end. A single option without such a value accepts.
 */
function declines(option, options) {
  if (options.some(({ value }) => typeof value === "boolean")) return option.value === false;
  return options.length > 1 && option === options.at(-1);
}
