// The views of all trees together, one at a time; which one stands in the address.

import { change, state } from "./state.js";

function tabs() {
  return [...document.querySelectorAll("[role=tab]:not([hidden])")];
}

/** Set up the tabs: a click or an arrow key moves to another view. */
export function beginTabs() {
  const list = document.querySelector("[role=tablist]");
  list.addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (tab) change({ tab: tab.dataset.tab }, { quiet: true });
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const all = tabs();
    const at = all.findIndex((tab) => tab.dataset.tab === state.tab);
    const next = all[(at + step + all.length) % all.length];
    change({ tab: next.dataset.tab }, { quiet: true });
    next.focus();
  });
}

/** Show the view that the state names; the first one where there is no such view. */
export function showTab() {
  const all = tabs();
  const chosen = all.find((tab) => tab.dataset.tab === state.tab) ?? all[0];
  for (const tab of all) {
    tab.setAttribute("aria-selected", tab === chosen ? "true" : "false");
    tab.setAttribute("tabindex", tab === chosen ? "0" : "-1");
    document.getElementById(tab.getAttribute("aria-controls")).hidden = tab !== chosen;
  }
  document.body.dataset.tab = chosen.dataset.tab;
  const list = chosen.parentElement;
  if (list.scrollWidth > list.clientWidth) list.scrollLeft = chosen.offsetLeft - list.clientWidth / 3;
}

/** The view that is shown. */
export function shownTab() {
  return document.body.dataset.tab;
}
