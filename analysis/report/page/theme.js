"use strict";
// No text ever becomes markup in this page: where the browser can, every such attempt is refused.
if (window.trustedTypes) {
  trustedTypes.createPolicy("default", { createHTML: (text) => (text === "" ? "" : null) });
}

const say = (text) => { document.getElementById("announce").textContent = text; };

(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const prefers = window.matchMedia("(prefers-color-scheme: dark)");
  const remembered = (() => { try { return localStorage.getItem("bsx-theme"); } catch { return null; } })();
  if (remembered === "dark" || remembered === "light") root.dataset.theme = remembered;
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefers.matches);
  const label = () => { button.textContent = dark() ? "Light theme" : "Dark theme"; };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("bsx-theme", root.dataset.theme); } catch { /* some browsers keep nothing for files */ }
    label();
  });
  prefers.addEventListener("change", label);
  label();
  button.hidden = false;

  // Tables that are folded away on the screen belong on paper; further examples are as the reader left them.
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("main details.long:not([open])")];
    for (const part of opened) part.open = true;
  });
  window.addEventListener("afterprint", () => { for (const part of opened) part.open = false; });
})();
