// The report: draws every landscape of the page's JSON block. Nothing is fetched.

import { drawHeatmap, drawLegend } from "./heatmap.js";

const DATA = JSON.parse(document.getElementById("adtc-data").textContent);

function showAll() {
  for (const place of document.querySelectorAll("[data-landscape]")) {
    const view = DATA.landscapes[Number(place.dataset.landscape)];
    const figure = place.closest("figure");
    const readout = figure.querySelector(".readout");
    drawHeatmap(place, view, { onLook: (text) => { readout.textContent = text; } });
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
window.addEventListener("beforeprint", showAll);
window.addEventListener("afterprint", showAll);
