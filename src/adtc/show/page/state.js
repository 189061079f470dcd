// The whole view as a link: everything that decides what is shown stands behind the # of the
// address, and going back in the browser goes back in the view.

const NAMES = ["where", "x", "y", "bins", "scale", "front", "fit", "side", "cell", "rank", "row", "pins", "tab",
  "sort", "rising", "group", "baseline", "steps", "at", "by", "table", "metric", "limit"];

export const state = {};
let listeners = [];
let defaults = {};

/** Begin with what the address says; what it leaves open comes from the defaults. */
export function beginState(given, listener) {
  defaults = given;
  listeners = [listener];
  read();
  const again = () => {
    const before = { ...state };
    read();
    const changed = NAMES.filter((name) => before[name] !== state[name]);
    if (changed.length) tell(new Set(changed));
  };
  window.addEventListener("hashchange", again);
  window.addEventListener("popstate", again);
}

function read() {
  const given = new URLSearchParams(window.location.hash.slice(1));
  for (const name of NAMES) state[name] = given.get(name) ?? defaults[name] ?? "";
}

function tell(changed) {
  for (const listener of listeners) listener(changed);
}

/** The address of the current view. */
export function hashOf(view) {
  const kept = NAMES.filter((name) => view[name] !== (defaults[name] ?? ""));
  return new URLSearchParams(kept.map((name) => [name, view[name]])).toString();
}

/** Change the view; quiet changes leave no step to go back to. */
export function change(changes, { quiet = false } = {}) {
  const changed = Object.keys(changes).filter((name) => state[name] !== String(changes[name]));
  if (!changed.length) return;
  for (const name of changed) state[name] = String(changes[name]);
  const address = `#${hashOf(state)}`;
  if (quiet) window.history.replaceState(null, "", address);
  else window.history.pushState(null, "", address);
  tell(new Set(changed));
}
