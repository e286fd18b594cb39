// Files by drop or choice: each goes to the server as it is, one after the other.

const zone = /** @type {HTMLElement} */ (document.getElementById("drop"));
const input = /** @type {HTMLInputElement} */ (document.getElementById("choose"));
const status = /** @type {HTMLElement} */ (document.getElementById("uploading"));
const problem = /** @type {HTMLElement} */ (document.getElementById("problem"));

/** @param {string} text */
function complain(text) {
  status.textContent = "";
  problem.textContent = text;
  problem.hidden = false;
}

/** @param {Response} answer @returns {Promise<string>} what went wrong, as the server says it */
async function reason(answer) {
  const text = await answer.text();
  try { return JSON.parse(text).problem; } catch { return text.startsWith("<") ? "The server could not take this." : text; }
}

/** @param {File[]} files */
async function send(files) {
  if (!files.length) return;
  problem.hidden = true;
  let run = zone.dataset.run ?? "";
  try {
    if (!run) {
      const made = await fetch(`/new?title=${encodeURIComponent(files[0].name)}`, { method: "POST" });
      if (!made.ok) return complain(await reason(made));
      run = (await made.json()).name;
    }
    for (const [place, file] of files.entries()) {
      status.textContent = `Handing in ${file.name} (${place + 1} of ${files.length})`;
      const answer = await fetch(`/upload/${run}?name=${encodeURIComponent(file.name)}`, { method: "PUT", body: file });
      if (!answer.ok) {
        if (!zone.dataset.run && !place) await fetch(`/runs/${run}/remove`, { method: "POST" });  // it is empty
        return complain(`${file.name}: ${await reason(answer)}`);
      }
    }
  } catch {
    return complain("The server does not answer. Is bsx ui still running in the terminal?");
  }
  location.assign(`/runs/${run}/files`);
}

input.addEventListener("change", () => send([...(input.files ?? [])]));
for (const event of ["dragenter", "dragover"]) {
  document.addEventListener(event, (e) => { e.preventDefault(); zone.classList.add("over"); });
}
document.addEventListener("dragleave", (e) => { if (e.relatedTarget === null) zone.classList.remove("over"); });
document.addEventListener("drop", (e) => {
  e.preventDefault();
  zone.classList.remove("over");
  const folder = [...(e.dataTransfer?.items ?? [])].map((item) => item.webkitGetAsEntry()).find((one) => one?.isDirectory);
  if (folder) return complain(`${folder.name} is a folder: open it, and drop the files that are in it.`);
  send([...(e.dataTransfer?.files ?? [])]);
});

// A column is one thing; and who goes on by the link to the metrics means what is filled in.
const form = /** @type {HTMLFormElement | null} */ (document.querySelector("form.settle:has(select)"));
for (const box of /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("form.settle input[type=checkbox]"))) {
  box.addEventListener("change", () => {
    for (const other of /** @type {HTMLInputElement[]} */ ([...(form?.elements ?? [])])) {
      if (box.checked && other !== box && other.type === "checkbox" && other.value === box.value) other.checked = false;
    }
  });
}
document.querySelector("nav a[href$='/metrics']")?.addEventListener("click", (e) => {
  const go = form?.querySelector("button.main");
  if (go) { e.preventDefault(); form?.requestSubmit(/** @type {HTMLButtonElement} */ (go)); }
});
