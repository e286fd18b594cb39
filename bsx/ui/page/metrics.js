// One click for what bsx computes unless told otherwise.

const only = /** @type {HTMLButtonElement | null} */ (document.getElementById("only"));
const boxes = /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("input[name=metric]"));
if (only !== null) {
  only.hidden = false;
  only.addEventListener("click", () => {
    for (const box of boxes) box.checked = box.hasAttribute("data-recommended");
    const chosen = [...boxes].filter((box) => box.checked).length;
    /** @type {HTMLElement} */ (document.getElementById("announce")).textContent = `${chosen} metrics are chosen.`;
  });
}
