// The page: its lasting parts, and what is open in it.

import { current, onChange } from "./address.js";
import { Unreachable, server } from "./api.js";
import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { byId, say } from "./dom.js";
import { rest } from "./focus.js";
import { Header } from "./header.js";
import { Home } from "./home.js";
import { Inspector } from "./inspector.js";
import { Queue } from "./queue.js";
import { Scroll } from "./scroll.js";
import { Sidebar } from "./sidebar.js";
import { StatusLine } from "./status.js";

let open = null;

function report(error) {
  say(byId("trouble-words"), error.message);
  byId("trouble").hidden = false;
  if (error instanceof Unreachable) server.addEventListener("reached", forget, { once: true });
}

function forget() {
  byId("trouble").hidden = true;
}

const page = {
  report,
  tried,
  composer: new Composer(tried),
  header: new Header({ cancel: () => tried(() => open.cancel()), close: () => tried(() => open.close()) }),
  inspector: new Inspector(),
  queue: new Queue(tried),
  scroll: new Scroll(),
  sidebar: new Sidebar(),
  status: new StatusLine(),
};
new Home(tried);

async function tried(action) {
  forget();
  try {
    await action();
    return true;
  } catch (error) {
    report(error);
    return false;
  }
}

async function show(address) {
  open?.leave();
  forget();
  byId("connection").hidden = true;
  page.sidebar.select(address);
  page.status.show(null);
  page.header.showState(null, { active: false, closable: false });
  const atHome = address.kind === "home";
  byId("home").hidden = !atHome;
  byId("conversation").hidden = atHome;
  page.inspector.reset(atHome ? null : address.kind);
  page.queue.reset(address.kind === "sessions" ? address.id : null);
  page.composer.reset(null);
  if (atHome) {
    open = null;
    page.sidebar.show(page.sidebar.kind ?? "sessions");
    page.header.show(null, "home");
    byId("prompt").focus();
    return;
  }
  page.header.show(null, "opening");
  page.scroll.toEnd();
  const opened = (open = new Conversation(address, page));
  await tried(() => opened.open());
  if (opened === open) rest();
}

byId("skip").addEventListener("click", () => byId("scroll").focus());
byId("forget-trouble").addEventListener("click", forget);
onChange(() => show(current()));
show(current());
