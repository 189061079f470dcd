// The report: draws every landscape of the page's JSON block. Nothing is fetched.

import { drawHeatmap, drawLegend, rangedLook } from "./heatmap.js";

const DATA = JSON.parse(document.getElementById("adtc-data").textContent);

function showAll() {
  for (const place of document.querySelectorAll("[data-landscape]")) {
    const view = DATA.landscapes[Number(place.dataset.landscape)];
    const figure = place.closest("figure");
    const readout = figure.querySelector(".readout");
    drawHeatmap(place, view, { onLook: (text) => { readout.textContent = text; }, ...rangedLook(view) });
    drawLegend(figure.querySelector(".legend"), view, "log");
  }
}

showAll();
let width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  showAll();
});

// Without a script all details are open. On a screen they begin closed; paper has no button, so
// they open for it and close again.
const details = [...document.querySelectorAll("details")];
let closed = [];
function openAll() {
  closed = details.filter((one) => !one.open);
  for (const one of closed) one.open = true;
  showAll();
}
function closeAgain() {
  for (const one of closed) one.open = false;
  closed = [];
  showAll();
}
for (const one of details) one.open = false;
window.addEventListener("beforeprint", openAll);
window.addEventListener("afterprint", closeAgain);
