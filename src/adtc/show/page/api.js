// Questions to the server. A newer question of the same kind replaces an older one.

const waiting = new Map();
let open = 0; // questions without an answer yet; the page says whether there are any

function count(by) {
  open += by;
  document.body.toggleAttribute("data-asking", open > 0);
}

/** An answer that is a sentence about what went wrong. */
export class Refusal extends Error {
  constructor(view, status) {
    super(view.error || "the server gave no reason.");
    this.view = view;
    this.status = status;
  }
}

/** Ask the server; null if a newer question of this kind was asked meanwhile. */
export async function ask(name, parameters = {}, kind = name) {
  waiting.get(kind)?.abort();
  const control = new AbortController();
  waiting.set(kind, control);
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  count(+1);
  try {
    const response = await fetch(`/api/${name}?${new URLSearchParams(given)}`, { signal: control.signal });
    const view = await response.json();
    if (!response.ok) throw new Refusal(view, response.status);
    return waiting.get(kind) === control ? view : null;
  } catch (error) {
    if (error.name === "AbortError") return null;
    if (error instanceof Refusal) throw error;
    throw new Refusal({ error: "the server does not answer; is it still running?" }, 0);
  } finally {
    count(-1);
  }
}
