// Messages: always on the screen, gone when they are read or no longer true.

const READ = 6000; // milliseconds that good news stays
let timer = null;

/** Show a message until it was read; one about a mistake stays until the view changes. */
export function tell(text, bad = false) {
  const notice = document.getElementById("notice");
  clearTimeout(timer);
  notice.textContent = text;
  document.getElementById("toast").classList.toggle("bad", bad);
  if (text && !bad) timer = setTimeout(() => tell(""), READ);
}

export function beginNotice() {
  document.getElementById("notice-close").addEventListener("click", () => tell(""));
}
