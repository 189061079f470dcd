// What the numbers mean: the question, the metrics, the conventions and the run.

import { make } from "./dom.js";

function pairs(list) {
  return make("dl", { class: "words" }, ...list.flatMap(([term, text]) => [make("dt", {}, term), make("dd", {}, text)]));
}

/** Write a formula with subscripts. */
function formula(text) {
  const place = make("span", {});
  for (const part of text.split(/(N\[[^\]]+\])/)) {
    if (part.startsWith("N[")) place.append("N", make("sub", {}, part.slice(2, -1)));
    else place.append(part.replaceAll("*", "·"));
  }
  return place;
}

export function showAbout(overview) {
  const rows = overview.metrics.map((metric) => make("tr", {},
    make("th", { scope: "row" }, make("code", {}, metric.name)),
    make("td", { class: "words" }, metric.about),
    make("td", { class: "words" }, metric.formula ? formula(metric.formula) : "counted, not computed")));
  const head = ["metric", "meaning", "formula"].map((name, at) => make("th", { scope: "col", class: at ? "words" : null }, name));
  const place = document.getElementById("about");
  place.replaceChildren(
    make("h3", {}, "The question"), pairs(overview.question),
    make("h3", {}, "What the metrics mean"), make("p", { class: "note" }, overview.glossary.join(" ")),
    make("div", { class: "scroll" }, make("table", {}, make("tr", {}, ...head), ...rows)),
    make("h3", {}, "How trees are counted"), make("ul", {}, ...overview.conventions.map((text) => make("li", {}, text))),
    make("h3", {}, "How this was computed"), pairs(overview.record));
  if (overview.compare) place.append(make("h3", {}, `The other profile: ${overview.compare.titles[1]}`), pairs(overview.compare.question));
}
