// The dashboard: asks what the profile is, then keeps all parts in step with the state.

import { showAbout } from "./about.js";
import { ask } from "./api.js";
import { beginBuilder, loadBuilder } from "./builder.js";
import { beginCompare, currentCompare, drawCompare, loadCompare } from "./compare.js";
import { beginLandscape, currentLandscape, drawLandscape, landscapeQuery, loadLandscape, showControls } from "./landscape.js";
import { make } from "./dom.js";
import { beginFurther, loadFurther } from "./further.js";
import { beginNotice, tell } from "./notice.js";
import { beginPanels } from "./panels.js";
import { beginPeople, loadPeople } from "./people.js";
import { beginPerson, loadPerson } from "./person.js";
import { download } from "./pictures.js";
import { beginQuestion } from "./question.js";
import { beginShortlist, shortlistRanks } from "./shortlist.js";
import { beginState, change, state } from "./state.js";
import { beginTabs, showTab } from "./tabs.js";
import { beginTrees, currentTree, drawBoth, drawTree, loadPins, loadTree, sideRanks } from "./trees.js";
import { beginVariables, loadVariables } from "./variables.js";

const MOST_TREES = 12;

/** Say in the header which trees are counted; the profile's own condition stands out. */
function showFacts(overview) {
  document.getElementById("facts").replaceChildren(...overview.facts.filter(([name]) => name !== "table").map(([name, text]) => (name === "condition"
    ? make("li", { class: "condition", title: "the profile's own condition" }, "only ", make("code", {}, text))
    : make("li", { title: name }, text))));
  const status = document.getElementById("status");
  const [, meaning] = overview.record[0];
  status.hidden = false;
  status.textContent = overview.status;
  status.title = meaning;
  status.classList.toggle("open", overview.status !== "exact");
  document.getElementById("status-note").textContent = overview.open ?? "";
  document.getElementById("status-note").hidden = !overview.open;
}

async function begin() {
  const overview = await ask("overview");
  document.title = `${overview.title} (adtc)`;
  document.getElementById("title").textContent = overview.title;
  showFacts(overview);
  showAbout(overview);

  const pick = async (i, j) => {
    if (currentLandscape().counts[i][j] === "0") {
      tell("No tree lies in this cell.");
      return;
    }
    await drawTree(tell, { side: "", cell: `${i},${j}` });
  };
  const pickCompared = async (side, i, j) => {
    const view = currentCompare();
    const parts = side === "both" ? ["first", "second"] : [side === "1" ? "first" : "second"];
    if (parts.every((part) => view[part].counts[i][j] === "0")) {
      tell("No tree lies in this cell.");
      return;
    }
    const place = { side: side === "2" || view[parts[0]].counts[i][j] === "0" ? "2" : "1", cell: `${i},${j}` };
    if (side === "both") {
      change({ ...place, rank: "" });
      await drawBoth(tell);
    } else await drawTree(tell, place);
    document.getElementById(side === "both" ? "side-card" : "tree-card").scrollIntoView({ block: "nearest" });
  };
  const safely = async (work) => {
    try {
      await work();
    } catch (error) {
      tell(error.message, true);
    }
  };
  let showFormula = () => {};
  const refresh = async (changed) => {
    if (["where", "x", "y", "bins", "fit", "side", "cell", "rank"].some((name) => changed.has(name))) tell("");
    if (changed.has("tab")) {
      showTab();
      drawLandscape(pick); // a hidden map has no width to fill
      drawCompare();
    }
    showControls();
    if (changed.has("where")) showFormula(state.where);
    const place = ["where", "x", "y", "bins", "fit"].some((name) => changed.has(name));
    if (place) await safely(() => loadLandscape(pick));
    else if (["scale", "front", "cell", "side"].some((name) => changed.has(name))) drawLandscape(pick);
    const both = ["where", "x", "y", "bins"].some((name) => changed.has(name));
    if (!both && ["scale", "cell", "side"].some((name) => changed.has(name))) drawCompare();
    if (both && state.side) await safely(() => loadCompare(overview)); // its bins name the tree's cell
    const rest = [];
    if (place || ["side", "cell", "rank", "row"].some((name) => changed.has(name))) rest.push(safely(() => loadTree(tell)));
    if (changed.has("pins") || changed.has("row")) rest.push(safely(() => loadPins(tell)));
    if (both && !state.side) rest.push(safely(() => loadCompare(overview)));
    rest.push(safely(async () => {
      await loadPeople();
      await loadPerson();
    }), safely(loadVariables), safely(loadBuilder), safely(() => loadFurther(tell)));
    await Promise.all(rest); // the first tree may have to be compiled: nothing else waits for it
  };

  const fit = overview.begin ? "1" : "0";
  beginState({ where: overview.begin, x: overview.start[0], y: overview.start[1], bins: "10", scale: "log", front: "1", fit, tab: "map", sort: "contested", rising: "0", limit: "0.02" }, refresh);
  beginNotice();
  beginTabs();
  beginLandscape(overview, pick);
  beginTrees(overview, tell);
  beginShortlist(overview, tell);
  beginCompare(overview, pickCompared);
  beginPanels(overview);
  beginPeople(overview, tell);
  beginPerson(overview);
  beginVariables(overview, tell);
  beginBuilder(overview, tell);
  beginFurther(overview, tell);
  showFormula = beginQuestion(overview, (text) => {
    // bins that follow the formula make the picked cell another one
    const cell = state.side || state.fit === "1" ? "" : state.cell;
    if (text !== state.where) change({ where: text, cell, rank: "" }, { quiet: true });
  });
  document.getElementById("copy-link").addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(window.location.href);
      tell("The link is copied; it leads to this very view in this browser while the dashboard runs.");
    } catch {
      tell(window.location.href);
    }
  });
  document.getElementById("export").addEventListener("click", (event) => safely(() => exportReport(event.target)));
  showTab();
  await refresh(new Set(["where", "x", "row", "pins"]));
  document.body.dataset.ready = "yes";
}

async function exportReport(button) {
  button.disabled = true;
  tell("The report is being written …");
  try {
    const now = currentTree();
    const ranks = [...new Set([...(now ? [now.profile_rank] : []), ...sideRanks(), ...shortlistRanks(state.side === "2" ? "2" : "")])];
    const query = { ...landscapeQuery(), side: state.side, trees: ranks.slice(0, MOST_TREES).join(",") };
    const given = Object.entries(query).filter(([, value]) => value !== "");
    const response = await fetch(`/api/report?${new URLSearchParams(given)}`);
    if (!response.ok) throw new Error((await response.json()).error);
    download(await response.blob(), "adtc-report.html", "text/html");
    const about = now?.profile ? ` on ${now.profile}` : "";
    tell(`The report${about} is written; it opens without this program.`);
  } finally {
    button.disabled = false;
  }
}

begin().catch((error) => tell(error.message, true));
