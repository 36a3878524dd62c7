// Time as the server has it, and as people say it.

const TOLERATED_MS = 2000; // the header that tells the server's time counts whole seconds

let ahead = 0;

export function heardFromServer(date) {
  const difference = Date.parse(date) - Date.now();
  if (!Number.isNaN(difference)) ahead = Math.abs(difference) > TOLERATED_MS ? difference : 0;
}

export const now = () => Date.now() + ahead;

const TIME = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** The time of day, with the day when it is not today. */
export function clockTime(instant) {
  const date = new Date(instant);
  const today = date.toDateString() === new Date(now()).toDateString();
  return today ? TIME.format(date) : `${DAY.format(date)}, ${TIME.format(date)}`;
}

export const exactTime = (instant) => EXACT.format(new Date(instant));

export function age(instant) {
  const minutes = Math.floor((now() - Date.parse(instant)) / 60_000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h`;
  return DAY.format(new Date(instant));
}

/** Time that is left, as a clock for less than a day and in words for more. */
export function countdown(ms) {
  const seconds = Math.ceil(ms / 1000);
  const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3600), Math.floor(seconds / 60)];
  const two = (number) => String(number).padStart(2, "0");
  if (days >= 1) return `${days} d ${hours % 24} h`;
  if (hours >= 1) return `${hours}:${two(minutes % 60)}:${two(seconds % 60)}`;
  return `${minutes}:${two(seconds % 60)}`;
}
