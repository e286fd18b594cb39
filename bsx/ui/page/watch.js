// How far a run is: asked once a second, until it has ended.

/** @typedef {{step: number, steps: number, phase: string, done: number, total: number}} Moment */
/** @typedef {{state: string, place: number | null, progress: Moment, seconds: number | null}} Status */

const live = /** @type {HTMLElement} */ (document.getElementById("live"));
const bar = /** @type {HTMLProgressElement} */ (document.getElementById("bar"));
const phase = /** @type {HTMLElement} */ (document.getElementById("phase"));
const said = /** @type {HTMLElement} */ (document.getElementById("said"));
const announce = /** @type {HTMLElement} */ (document.getElementById("announce"));
let began = { phase: "", at: 0, done: 0 };

/** @param {number} seconds */
function about(seconds) {
  return seconds < 60 ? "less than a minute left" : `about ${Math.round(seconds / 60)} min left`;
}

/** @param {Status} now */
function show(now) {
  const { step, steps, phase: name, done, total } = now.progress;
  if (name !== began.phase) began = { phase: name, at: performance.now(), done };
  if (total) { bar.max = total; bar.value = done; } else bar.removeAttribute("value");
  const parts = [];
  if (steps > 1 && step) parts.push(`Step ${step} of ${steps}`);
  parts.push(name || (now.state === "queued" ? `Waiting, ${now.place ?? 0} before it` : "Starting"));
  if (total) parts.push(`${done.toLocaleString("en")} of ${total.toLocaleString("en")}`);
  const since = (performance.now() - began.at) / 1000;
  if (total && done > began.done && since > 3) parts.push(about(since * (total - done) / (done - began.done)));
  phase.textContent = parts.join(" · ");
  const state = now.state === "queued" ? "waiting" : now.state;
  if (said.textContent !== state) { said.textContent = state; announce.textContent = state; }
}

async function ask() {
  try {
    const answer = await fetch(live.dataset.status ?? "", { headers: { accept: "application/json" } });
    if (!answer.ok) throw new Error();
    const now = /** @type {Status} */ (await answer.json());
    if (now.state !== "queued" && now.state !== "running") return location.reload();
    show(now);
  } catch {
    phase.textContent = "The server does not answer. Is bsx ui still running in the terminal?";
  }
  setTimeout(ask, 1000);
}
ask();
