// The shortlist: trees with notes, kept in this browser, saved and loaded as a file. Every entry
// names its profile, for the second one may be another next time.

import { make } from "./dom.js";
import { grouped } from "./numbers.js";
import { download } from "./pictures.js";
import { change } from "./state.js";

const FORMAT = "adtc shortlist";
let key = "";
let entries = [];
let profiles = []; // fingerprint and number of trees of the profiles that are open

function nameOf(profile) {
  return `${profile.fingerprint} ${profile.count}`;
}

/** Where an entry's profile is: "" the first, "2" the second, null not open. */
function sideOf(entry) {
  const at = profiles.findIndex((profile) => nameOf(profile) === entry.of);
  if (at < 0 || BigInt(entry.rank) >= BigInt(profiles[at].count)) return null;
  return at ? "2" : "";
}

/** The ranks of the kept trees of a profile, "" or "2". */
export function shortlistRanks(side) {
  return entries.filter((entry) => sideOf(entry) === side).map((entry) => entry.rank);
}

export function beginShortlist(overview, tell) {
  profiles = [{ fingerprint: overview.data.fingerprint, count: overview.count, title: overview.compare?.titles[0] ?? "" }];
  if (overview.compare) profiles.push({ ...overview.compare, title: overview.compare.titles[1] });
  key = `adtc-shortlist ${nameOf(profiles[0])}`;
  try {
    entries = checked(JSON.parse(localStorage.getItem(key) || "[]"));
  } catch {
    entries = [];
  }
  document.addEventListener("adtc-keep", (event) => add(event.detail, tell));
  document.getElementById("list-save").addEventListener("click", () => {
    const { fingerprint, count } = profiles[0];
    const list = { format: FORMAT, version: 1, fingerprint, count, trees: entries };
    download(JSON.stringify(list, null, 2), "adtc-shortlist.json", "application/json");
  });
  document.getElementById("list-load").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (file) load(await file.text(), tell);
    event.target.value = "";
  });
  show();
}

function checked(list) {
  if (!Array.isArray(list)) throw new Error("not a list");
  return list.filter((entry) => entry && /^[0-9]+$/.test(entry.rank)).map((entry) => ({
    of: String(entry.of ?? nameOf(profiles[0])), rank: String(entry.rank), note: String(entry.note ?? ""),
    metrics: entry.metrics ?? {}, rules: entry.rules ?? [],
  })).filter((entry) => entry.of !== nameOf(profiles[0]) || sideOf(entry) !== null);
}

function keepAll() {
  try {
    localStorage.setItem(key, JSON.stringify(entries));
  } catch { /* a full or closed store must not stop the work; the list can still be downloaded */ }
}

function add(view, tell) {
  const of = nameOf(profiles[view.side ? 1 : 0]);
  if (entries.some((entry) => entry.rank === view.profile_rank && entry.of === of)) {
    tell("This tree is on the shortlist already.");
    return;
  }
  const metrics = Object.fromEntries(Object.entries(view.metrics).map(([name, value]) => [name, value.text]));
  entries.push({ of, rank: view.profile_rank, note: "", metrics, rules: view.rules });
  keepAll();
  show();
  tell("Added to the shortlist.");
}

function load(text, tell) {
  try {
    const list = JSON.parse(text);
    if (list.format !== FORMAT) throw new Error("foreign");
    if (nameOf(list) !== nameOf(profiles[0])) {
      tell("This list was made for another profile: its ranks would name other trees here.", true);
      return;
    }
    const known = new Set(entries.map((entry) => `${entry.of} ${entry.rank}`));
    const fresh = checked(list.trees).filter((entry) => !known.has(`${entry.of} ${entry.rank}`));
    entries = [...entries, ...fresh];
    keepAll();
    show();
    const hidden = fresh.filter((entry) => sideOf(entry) === null).length;
    tell(hidden ? `The list was loaded; ${hidden} of its trees are of a profile that is not open and are not shown.` : "The list was loaded.");
  } catch {
    tell("This file is not a shortlist that adtc saved.", true);
  }
}

function show() {
  const place = document.getElementById("shortlist");
  document.getElementById("list-save").disabled = !entries.length;
  const shown = entries.filter((entry) => sideOf(entry) !== null);
  if (!shown.length) {
    place.replaceChildren(make("p", { class: "note" }, "Nothing yet."));
    return;
  }
  place.replaceChildren(...shown.map((entry) => {
    const side = sideOf(entry);
    const { title } = profiles[side ? 1 : 0];
    const name = `Tree ${grouped(entry.rank)}${title ? ` of ${title}` : ""}`;
    const note = make("textarea", { "aria-label": `Note on ${name}`, placeholder: "Why this tree?", rows: 1 });
    note.value = entry.note;
    note.addEventListener("input", () => {
      entry.note = note.value;
      keepAll();
    });
    const values = Object.entries(entry.metrics).map(([metric, value]) => `${metric} ${value}`).join(", ");
    return make("li", {}, make("strong", {}, name), ` ${values}`, note, make("div", { class: "actions small" },
      make("button", { type: "button", onclick: () => change({ where: "", side, cell: "", rank: entry.rank }) }, "Show"),
      make("button", { type: "button", onclick: () => {
        entries = entries.filter((other) => other !== entry);
        keepAll();
        show();
      } }, "Remove")));
  }));
}
