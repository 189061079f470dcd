// The shortlist: trees with notes, kept in this browser, saved and loaded as a file.

import { make } from "./dom.js";
import { countText } from "./numbers.js";
import { download } from "./pictures.js";
import { change } from "./state.js";

const FORMAT = "adtc shortlist";
let key = "";
let entries = [];
let fingerprint = "";
let limit = 0n;

export function shortlistRanks() {
  return entries.map((entry) => entry.rank);
}

export function beginShortlist(overview, tell) {
  fingerprint = overview.data.fingerprint;
  limit = BigInt(overview.count);
  key = `adtc-shortlist ${fingerprint} ${overview.count}`;
  try {
    entries = checked(JSON.parse(localStorage.getItem(key) || "[]"));
  } catch {
    entries = [];
  }
  document.addEventListener("adtc-keep", (event) => add(event.detail, tell));
  document.getElementById("list-save").addEventListener("click", () => {
    const list = { format: FORMAT, version: 1, fingerprint, count: overview.count, trees: entries };
    download(JSON.stringify(list, null, 2), "adtc-shortlist.json", "application/json");
  });
  document.getElementById("list-load").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (file) load(await file.text(), overview, tell);
    event.target.value = "";
  });
  show();
}

function checked(list) {
  if (!Array.isArray(list)) throw new Error("not a list");
  return list.filter((entry) => entry && /^[0-9]+$/.test(entry.rank) && BigInt(entry.rank) < limit).map((entry) => ({
    rank: String(entry.rank), note: String(entry.note ?? ""), metrics: entry.metrics ?? {}, rules: entry.rules ?? [],
  }));
}

function keepAll() {
  try {
    localStorage.setItem(key, JSON.stringify(entries));
  } catch { /* a full or closed store must not stop the work; the list can still be downloaded */ }
}

function add(view, tell) {
  if (entries.some((entry) => entry.rank === view.profile_rank)) {
    tell("This tree is on the shortlist already.");
    return;
  }
  const metrics = Object.fromEntries(Object.entries(view.metrics).map(([name, value]) => [name, value.text]));
  entries.push({ rank: view.profile_rank, note: "", metrics, rules: view.rules });
  keepAll();
  show();
  tell("Added to the shortlist.");
}

function load(text, overview, tell) {
  try {
    const list = JSON.parse(text);
    if (list.format !== FORMAT) throw new Error("foreign");
    if (list.fingerprint !== fingerprint || list.count !== overview.count) {
      tell("This list was made for another profile: its ranks would name other trees here.", true);
      return;
    }
    const known = new Set(entries.map((entry) => entry.rank));
    entries = [...entries, ...checked(list.trees).filter((entry) => !known.has(entry.rank))];
    keepAll();
    show();
    tell("The list was loaded.");
  } catch {
    tell("This file is not a shortlist that adtc saved.", true);
  }
}

function show() {
  const place = document.getElementById("shortlist");
  document.getElementById("list-save").disabled = !entries.length;
  if (!entries.length) {
    place.replaceChildren(make("p", { class: "note" }, "Nothing yet."));
    return;
  }
  place.replaceChildren(...entries.map((entry) => {
    const name = `Tree ${countText(String(BigInt(entry.rank) + 1n))}`;
    const note = make("textarea", { "aria-label": `Note on ${name}`, placeholder: "Why this tree?", rows: 1 });
    note.value = entry.note;
    note.addEventListener("input", () => {
      entry.note = note.value;
      keepAll();
    });
    const values = Object.entries(entry.metrics).map(([metric, value]) => `${metric} ${value}`).join(", ");
    return make("li", {}, make("strong", {}, name), ` ${values}`, note, make("div", { class: "actions small" },
      make("button", { type: "button", onclick: () => change({ where: "", cell: "", rank: entry.rank }) }, "Show"),
      make("button", { type: "button", onclick: () => {
        entries = entries.filter((other) => other !== entry);
        keepAll();
        show();
      } }, "Remove")));
  }));
}
