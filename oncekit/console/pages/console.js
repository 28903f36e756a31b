// The page is whole without this; with it, it is live, and has keys.
"use strict";
const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// ---- live ----

const part = one("[data-live]");
const link = one("#link");
const place = link ? link.textContent : "";
let asking = false, again = false, ticking;

function lost(is, forGood = false) {
  const words = forGood ? "gone: open the address that was printed last" : "connection lost, trying again…";
  link.textContent = is ? words : place;
  link.classList.toggle("lost", is);
}

async function refresh() {
  if (asking) { again = true; return; }
  asking = true;
  try {
    const asked = part.id === "rows" ? "?" + query() : "";
    const answer = await fetch(part.dataset.live + asked, { headers: { Accept: "text/html" } });
    if (answer.ok) show(await answer.text());
  } catch { lost(true); }
  asking = false;
  if (again) { again = false; setTimeout(refresh, 120); }
}

function show(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html").body;
  if (part.id === "rows") return showRows(fresh);
  const open = new Set(all("details[open]", part).map(where)), closed = new Set(all("details:not([open])", part).map(where));
  const scrolled = all(".pan, .scroll, pre", part).map(each => [each.scrollLeft, each.scrollTop]);
  const focused = document.activeElement && part.contains(document.activeElement) ? path(document.activeElement) : null;
  if (typing()) return;
  part.replaceChildren(...fresh.childNodes);
  for (const each of all("details", part)) {
    if (open.has(where(each))) each.open = true; else if (closed.has(where(each))) each.open = false;
  }
  all(".pan, .scroll, pre", part).forEach((each, n) => { if (scrolled[n]) [each.scrollLeft, each.scrollTop] = scrolled[n]; });
  if (focused) one(focused, part)?.focus({ preventScroll: true });
  if (chosen) choose(document.getElementById(chosen), false);
  if (!one(".status.running", part)) { clearInterval(ticking); one(".stop")?.remove(); }
  wake(part);
}

// A <details> is known by the item it is in, and its place there.
function where(details) {
  const item = details.closest("[id]");
  return item.id + "/" + all("details", item).indexOf(details);
}
function path(element) {
  const item = element.closest("[id]");
  return item === element || !part.contains(item) ? "#" + CSS.escape(element.id || "none") : `#${CSS.escape(item.id)} ${element.localName}`;
}
function typing() {
  const at = document.activeElement;
  return at && part.contains(at) && at.matches("input, textarea") && at.value;
}

function showRows(fresh) {
  const list = one("ol", fresh), had = one("ol", part);
  const known = new Map(rowsOf(had).map(each => [each.dataset.arn, each]));
  const first = rowsOf(list).map(each => serve(each, known.get(each.dataset.arn), known.size));
  const arns = new Set(first.map(each => each.dataset.arn));
  // What was loaded further down stays, unless the order is another one.
  const further = one("#more", fresh) && !query().includes("group=") && window.scrollY > 600
    ? rowsOf(had).filter(each => !arns.has(each.dataset.arn)) : [];
  arrange(had, [...first, ...further]);
  had.className = list.className;
  if (!further.length) {
    all(".empty, #more", part).forEach(each => each.remove());
    part.append(...all(".empty, #more", fresh));
  }
  counts(list);
  watchEnd();
}

// A row that is there already stays, so that it keeps the focus; one that changed takes its place.
function serve(row, before, any) {
  row.served = row.outerHTML;
  if (!before) { if (any) row.classList.add("new"); return row; }
  if (before.served === row.served) return before;
  const focused = before.contains(document.activeElement);
  if (before.classList.contains("chosen")) row.classList.add("chosen");
  before.replaceWith(row);
  if (focused) one("a", row).focus({ preventScroll: true });
  return row;
}
function rowsOf(list) { return all("li[data-arn]", list); }
function arrange(list, rows) {
  let at = list.firstElementChild;
  for (const row of rows) {
    if (row === at) at = at.nextElementSibling; else list.insertBefore(row, at);
  }
  while (at) { const next = at.nextElementSibling; at.remove(); at = next; }
}

function counts(list) {
  for (const pair of list.dataset.counts.trim().split(/\s+/)) {
    const [kind, n] = pair.split("=");
    const badge = one(`[data-count="${kind}"]`);
    if (badge) badge.textContent = n;
  }
}

// A browser keeps six connections to a host open, so that a tab that nobody sees gives its own back.
function listen(address) {
  let events;
  const begin = () => {
    events = new EventSource(address);
    events.onmessage = () => { lost(false); refresh(); };
    events.onopen = () => lost(false);
    events.onerror = () => lost(true, events.readyState === EventSource.CLOSED);
  };
  addEventListener("pagehide", () => events.close());
  document.addEventListener("visibilitychange", () => { events.close(); if (!document.hidden) begin(); });
  begin();
}

// ---- requests: filter, and more rows at the end ----

const filter = one("#filter");
function query(after) {
  const asked = new URLSearchParams();
  for (const [name, value] of new FormData(filter)) if (value) asked.set(name, value);
  if (after) asked.set("after", after);
  return asked.toString();
}

let waiting;
function filtered() {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    history.replaceState(null, "", "/" + (query() ? "?" + query() : ""));
    scrollTo(0, 0);
    part.replaceChildren(Object.assign(document.createElement("ol"), { className: "rows" }));
    refresh();
  }, 90);
}

const end = "IntersectionObserver" in window && new IntersectionObserver(seen => {
  if (seen.some(each => each.isIntersecting)) loadMore(one("#more button"));
}, { rootMargin: "800px" });

function watchEnd() {
  const more = one("#more");
  if (end) { end.disconnect(); if (more) end.observe(more); }
}

let loading = false;
async function loadMore(button) {
  if (!button || loading) return;
  loading = true;
  try {
    const answer = await fetch("/rows?" + query(button.dataset.after));
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").body;
    const rows = rowsOf(fresh);
    rows.forEach(each => { each.served = each.outerHTML; });
    one("ol", part).append(...rows);
    one("#more")?.remove();
    const more = one("#more", fresh);
    if (more) part.append(more);
  } finally { loading = false; }
  watchEnd();
}

// ---- keys ----

let chosen = "";
function items() { return all("#rows li[data-arn], .visits > li, .writes > li"); }
function choose(item, scroll = true) {
  all(".chosen").forEach(each => each.classList.remove("chosen"));
  if (!item) return;
  item.classList.add("chosen");
  chosen = item.id;
  const name = item.id && one(`.picture a[href="#${item.id}"]`);
  if (name) name.classList.add("chosen");
  const focus = one("a, summary", item);
  if (focus && scroll) focus.focus({ preventScroll: true });
  if (scroll) item.scrollIntoView({ block: "nearest" });
}
function step(by) {
  const list = items(), at = list.findIndex(each => each.classList.contains("chosen"));
  choose(list[Math.max(0, Math.min(list.length - 1, at < 0 ? (by > 0 ? 0 : list.length - 1) : at + by))]);
}

addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) {
    if (event.key === "Escape") { event.preventDefault(); event.target.blur(); }
    return;
  }
  const keys = {
    j: () => step(1), k: () => step(-1), "?": () => one("#keys").showModal(),
    "/": () => search(), r: () => location.assign("/"), w: () => location.assign("/waiting"), s: () => one('nav a[href="/start"]')?.click(),
    g: () => one("#filter [name=group]")?.click(),
  };
  if (keys[event.key] && !one("dialog[open]")) { event.preventDefault(); keys[event.key](); }
});

function search() {
  const events = one("#events");
  if (filter) one("[name=text]", filter).focus();
  else if (events) { events.open = true; one("[data-filter]", events)?.focus(); }
}

// ---- clicks ----

// What a link within the page names: it is opened, and what it is within.
function open(hash) {
  const events = hash.startsWith("event-") && one("#events");
  if (events) events.open = true;
  const item = document.getElementById(hash), rest = one("#rest");
  if (!item && rest && hash.startsWith("visit-") && !rest.open) rest.open = true; // comes back here when it is loaded
  if (!item || item.id === "events") return;
  const details = one("details", item);
  if (details) details.open = true;
  choose(item);
}

// ---- events of a run: those that have a text ----

let wanted = "";
function sift(within = document) {
  const found = one("[data-found]", within);
  if (!found) return;
  const rows = all("[data-event]", within);
  for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted.toLowerCase());
  found.textContent = wanted ? `${rows.filter(row => !row.hidden).length} of ${rows.length}` : "";
}
document.addEventListener("input", event => {
  if (!event.target.matches("[data-filter]")) return;
  wanted = event.target.value;
  sift();
});

// ---- a start as a command ----

function command() {
  const form = one("form.form"), said = name => form.elements[name].value;
  const more = said("times") > 1 ? ` --duplicates ${said("times") - 1}` : "";
  return `echo '${said("request").replaceAll("'", "'\\''")}' | once send - --lane ${said("lane")}${more}`;
}

// ---- work that takes a while ----

function busy(form, button) {
  if (!button) return;
  setTimeout(() => { button.disabled = true; button.textContent = "Working…"; }); // after the form has taken its value
  form.setAttribute("aria-busy", "true");
}

async function copy(button, text) {
  const said = button.textContent;
  try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; } catch { button.textContent = "Not copied"; }
  setTimeout(() => { button.textContent = said; }, 1200);
}

// ---- the picture: as a whole, or in its own size, in which it can be read ----

function larger() {
  part.classList.toggle("large");
  sized();
  toFirst();
}
function sized(within = document) {
  all("[data-larger]", within).forEach(each => { each.textContent = part.classList.contains("large") ? "As a whole" : "Larger"; });
}
function toFirst() {
  const pan = one(".pan"), first = one('.picture a[href="#visit-1"]');
  if (!pan || !first) return;
  const [there, here] = [first, pan].map(each => each.getBoundingClientRect());
  pan.scrollBy(there.x + there.width / 2 - here.x - here.width / 2, there.y - here.y - 60);
}

document.addEventListener("click", event => {
  const target = event.target.closest("[data-copy], [data-copy-text], [data-larger], #help, a[href^='#visit-'], a[href^='#event-'], a[href^='#write-'], #as-command, #more button, #rows li");
  if (!target) return;
  if (target.matches("[data-copy]")) { event.preventDefault(); copy(target, one("pre", target.closest(".said")).textContent); }
  else if (target.matches("[data-copy-text]")) copy(target, target.dataset.copyText);
  else if (target.matches("[data-larger]")) larger();
  else if (target.id === "as-command") copy(target, command());
  else if (target.id === "help") one("#keys").showModal();
  else if (target.matches("a")) { event.preventDefault(); history.replaceState(null, "", target.getAttribute("href")); open(target.getAttribute("href").slice(1)); }
  else if (target.matches("#more button")) loadMore(target);
  else if (!event.target.closest("a") && !getSelection().toString()) one("a", target).click();
});

document.addEventListener("submit", event => {
  const question = event.target.dataset.confirm;
  if (!question) { if (event.target.method === "post") busy(event.target, event.submitter); return; }
  event.preventDefault();
  const dialog = one("#confirm");
  one("#confirm-text").textContent = question;
  dialog.returnValue = "no";
  dialog.onclose = () => {
    if (dialog.returnValue !== "yes") return;
    busy(event.target, event.submitter);
    event.target.submit();
  };
  dialog.showModal();
});

// Of a long run, what is folded up comes when it is opened.
document.addEventListener("toggle", async event => {
  const item = event.target.open && event.target.closest(".visits > li");
  if (item && one("details", item) === event.target) history.replaceState(null, "", "#" + item.id);
  const own = name => all(name, event.target).find(each => each.closest("details") === event.target);
  const later = event.target.open && own("[data-later]");
  if (!later) return;
  const address = later.dataset.later;
  delete later.dataset.later;
  const answer = await fetch(address).catch(() => null);
  if (!answer) { later.dataset.later = address; return lost(true); }
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").body;
  later.replaceChildren(...(answer.ok ? fresh.childNodes : [one("main p", fresh) || fresh]));
  wake(later);
  if (["events", "rest"].includes(event.target.id) && location.hash) open(location.hash.slice(1));
}, true);

// ---- a lease runs down ----

function wake(within = document) {
  sized(within);
  all("[data-copy], [data-copy-text], [data-larger], #help, #as-command, .events-filter", within).forEach(each => { each.hidden = false; });
  all("[data-filter]", within).forEach(each => { each.value = wanted; });
  sift(within);
  for (const lease of all("[data-ends]", within)) {
    const ahead = Number(lease.dataset.now) * 1000 - Date.now();
    const tell = () => {
      if (!lease.isConnected) return;
      const left = Number(lease.dataset.ends) - (Date.now() + ahead) / 1000;
      lease.textContent = Number(lease.dataset.ends) === 0 ? "was ended" : left > 0 ? Math.ceil(left) + " s more" : "over since " + Math.floor(-left) + " s";
      setTimeout(tell, 500);
    };
    tell();
  }
}

wake();
toFirst();
if (part) {
  if (part.dataset.changes) listen(part.dataset.changes);
  if (part.dataset.steps) { listen(part.dataset.steps); ticking = setInterval(refresh, 1000); }
}
if (filter) {
  filter.addEventListener("input", filtered);
  filter.addEventListener("submit", event => { event.preventDefault(); filtered(); });
  rowsOf(part).forEach(each => { each.served = each.outerHTML; });
  watchEnd();
}
if (location.hash) open(location.hash.slice(1));
