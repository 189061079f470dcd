// What the panels share: they ask only while they are seen, say why they cannot answer, and write
// bars and colours the same way.

import { make } from "./dom.js";
import { state } from "./state.js";
import { shownTab } from "./tabs.js";

const WAIT = 250; // milliseconds before a panel says that it is busy
const loaded = new Map(); // what each panel last asked for
let colours = [];

export function beginPanels(overview) {
  colours = overview.colours;
}

/** Mark an element with the colour of a class, the same as in drawn trees. */
export function inColour(element, label) {
  element.style.setProperty("--class", colours[label % colours.length]);
  return element;
}

/** A bar that is filled by a share from 0 to 1. */
export function shareBar(part, label = null) {
  const bar = make("span", { class: "share-bar", "aria-hidden": "true" }, make("span", {}));
  bar.firstChild.style.width = `${(100 * part).toFixed(2)}%`;
  bar.firstChild.hidden = part === 0; // however thin, a line would be something
  return label === null ? bar : inColour(bar, label);
}

/** Run work for a panel if it is seen and asks for something new; while it lasts, the panel says so. */
export async function loadPanel(tab, query, work) {
  const key = JSON.stringify(query);
  if (shownTab() !== tab || loaded.get(tab) === key) return;
  loaded.set(tab, key);
  const panel = document.getElementById(`panel-${tab}`);
  const busy = setTimeout(() => panel.setAttribute("aria-busy", "true"), WAIT);
  try {
    await work();
  } catch (refusal) {
    loaded.delete(tab);
    throw refusal;
  } finally {
    clearTimeout(busy);
    if (loaded.get(tab) === key || !loaded.has(tab)) panel.removeAttribute("aria-busy");
  }
}

/** Say in a panel why it has nothing to show; returns whether that is so. */
export function leftOut(tab, reason) {
  document.getElementById(`${tab}-body`).hidden = Boolean(reason);
  if (reason) document.getElementById(`${tab}-head`).replaceChildren(make("span", { class: "left-out" }, reason));
  return Boolean(reason);
}

/** A heading of a column that sorts by it. */
export function sortHead(text, active, rising, onSort, title = null) {
  const arrow = active ? (rising ? "▲" : "▼") : "";
  return make("button", { type: "button", class: "sort-head", title, "aria-pressed": String(active), onclick: onSort }, text, make("span", { class: "sort-arrow", "aria-hidden": "true" }, arrow));
}

/** The trees that the panels are about, in words. */
export function whichTrees() {
  return state.where ? `with ${state.where}` : "of the profile";
}
