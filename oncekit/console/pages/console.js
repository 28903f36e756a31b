// Makes pages live.
"use strict";
const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const parsed = text => new DOMParser().parseFromString(text, "text/html");

// ---- live: a page asks each second what is new; after a change it fetches itself again, and takes over its part ----

const part = one("[data-live]");
const link = one("#link"), here = link.textContent;
const filter = one("#filter");
const LOST = "connection lost, trying again…", GONE = "gone: open the address that was printed last";
let seen;

function lost(words = "") {
  link.textContent = words || here;
  link.classList.toggle("lost", words !== "");
}

async function live() {
  try {
    if (!document.hidden) {
      const answer = await fetch(part.dataset.live), now = await answer.text();
      lost(answer.ok ? "" : GONE);
      if (answer.ok && (now !== seen || one(".status.running, #waiting .running", part))) await refresh();
      seen = now;
    }
  } catch { lost(LOST); seen = ""; }
  setTimeout(live, 1000);
}

async function refresh() {
  const address = location.pathname + location.search;
  const answer = await fetch(address), text = await answer.text();
  if (answer.ok && address === location.pathname + location.search) show(parsed(text)); // what was asked for last
}

function show(page) {
  const fresh = one("[data-live]", page);
  const typed = all("input:not([type=hidden]), textarea", part).some(each => each.value); // is not taken away
  if (!fresh || typed || one("[data-asks]")) return;
  const folds = new Map(all("details", part).map(each => [where(each), each]));
  const scrolled = all(".pan, pre", part).map(each => [each.scrollLeft, each.scrollTop]);
  const focused = part.contains(document.activeElement) && place(document.activeElement);
  part.replaceChildren(...fresh.childNodes);
  for (const each of all("details", part)) {
    const before = folds.get(where(each));
    if (!before) continue;
    each.open = before.open;
    const later = own("[data-later]", each), loaded = own("[data-loaded]", before);
    if (later && loaded) later.replaceChildren(...loaded.childNodes); // until it is fetched again
  }
  all(".pan, pre", part).forEach((each, n) => { if (scrolled[n]) [each.scrollLeft, each.scrollTop] = scrolled[n]; });
  if (focused) focused()?.focus({ preventScroll: true });
  document.title = page.title;
  all("[data-count]").forEach(each => { each.textContent = one(`[data-count="${each.dataset.count}"]`, page).textContent; });
  for (const each of ["#waits", "#ahead"]) one(each).replaceWith(one(each, page));
  wake(part);
}

// A <details> is known by the item it is in, and its place there.
function where(details) {
  const item = details.closest("[id]");
  return item.id + "/" + all("details", item).indexOf(details);
}
const own = (name, details) => all(name, details).find(each => each.closest("details") === details);
// An element is found again by the item it is in, and its place among others of its name there.
function place(element) {
  const { id } = element.closest("[id]"), n = all(element.localName, element.closest("[id]")).indexOf(element);
  return () => n < 0 ? document.getElementById(id) : all(element.localName, document.getElementById(id) ?? part)[n];
}

// ---- requests: filter ----

let waiting;
// The address says what is shown, so that Back finds it again.
function filtered() {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    const said = new URLSearchParams([...new FormData(filter)].filter(([, value]) => value)).toString();
    history.replaceState(null, "", "/" + (said ? "?" + said : ""));
    scrollTo(0, 0);
    refresh().catch(() => lost(LOST));
  }, 90);
}

// ---- what is opened ----

// The state that the address names.
function open() {
  const details = document.getElementById(location.hash.slice(1))?.querySelector("details");
  if (!details) return;
  details.open = true;
  one("summary", details).focus({ preventScroll: true });
  details.scrollIntoView({ block: "nearest" });
}
// What is folded up comes when it is opened.
document.addEventListener("toggle", async event => {
  const details = event.target, later = details.open && own("[data-later]", details);
  if (!details.open || !later) return;
  const item = details.closest(".visits > li");
  if (item) history.replaceState(null, "", "#" + item.id);
  const address = later.dataset.later;
  delete later.dataset.later;
  later.dataset.loaded = "";
  const answer = await fetch(address).catch(() => null);
  if (!answer) { later.dataset.later = address; return lost(LOST); }
  const fresh = parsed(await answer.text()).body;
  later.replaceChildren(...(answer.ok ? fresh.childNodes : [one("main p", fresh) || fresh]));
  wake(later);
}, true);

// ---- clicks ----

async function copy(button, text) {
  const said = button.textContent;
  if (said === "Copied") return;
  try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; } catch { button.textContent = "Not copied"; }
  setTimeout(() => { button.textContent = said; }, 1200);
}
const clicks = {
  "[data-copy]": target => copy(target, one("pre", target.closest(".said")).textContent),
  "[data-back]": (target, event) => {
    if (!/^\/(\?|$)/.test(document.referrer.slice(location.origin.length)) || history.length < 2) return;
    event.preventDefault();
    history.back();
  },
  "[data-copy-text]": target => copy(target, target.dataset.copyText),
  "a[href^='#visit-']": (target, event) => {
    event.preventDefault();
    history.replaceState(null, "", target.getAttribute("href"));
    open();
  },
  ".rows > li": (target, event) => { if (!event.target.closest("a") && !getSelection().toString()) one("a", target).click(); },
};
document.addEventListener("click", event => {
  for (const [what, act] of Object.entries(clicks)) {
    const target = event.target.closest(what);
    if (target) return act(target, event);
  }
});

document.addEventListener("submit", event => {
  const { target: form, submitter: button } = event, question = form.dataset.confirm;
  if (question && !confirm(question)) return event.preventDefault();
  if (form.method !== "post") return;
  setTimeout(() => { button.disabled = true; button.textContent = "Working…"; }); // after the form has taken its value
  form.setAttribute("aria-busy", "true");
});

// ---- what is new in a page ----

function wake(within = document) {
  const today = new Date(one("#ahead").dataset.now).toDateString(); // the clock here may not be the cloud's
  const days = new Map(); // of what is told one after the other, a day is said once
  for (const each of all("time[datetime]", within)) {
    const at = new Date(each.dateTime), told = each.closest("[data-dated]");
    const day = at.toDateString() === (days.get(told) ?? today) ? {} : { month: "short", day: "numeric" };
    if (told) days.set(told, at.toDateString());
    each.textContent = at.toLocaleString([], { ...day, hour: "2-digit", minute: "2-digit", second: "2-digit", ...("exact" in each.dataset && { fractionalSecondDigits: 3 }) });
  }
}

document.cookie = `zone=${Intl.DateTimeFormat().resolvedOptions().timeZone};path=/;samesite=lax`; // of "10:00" in a search
wake();
if (part) live();
if (filter) {
  filter.addEventListener("input", filtered);
  filter.addEventListener("submit", event => { event.preventDefault(); filtered(); });
}
open();
