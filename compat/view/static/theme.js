// Light, dark, or as the system has it. The choice is kept where the browser lets a page keep anything.
"use strict";
document.documentElement.classList.add("live");
(() => {
  const KEY = "compat-theme";
  const NEXT = { auto: "light", light: "dark", dark: "auto" };
  const NAMES = { auto: "Auto", light: "Light", dark: "Dark" };

  function stored() {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null;
    }
  }

  function keep(theme) {
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // A page from a file or in a sandbox may keep nothing; the choice then lasts as long as the page.
    }
  }

  function show(theme) {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (!button) return;
    document.getElementById("theme-name").textContent = NAMES[theme];
    button.setAttribute("aria-label", `Colours: ${NAMES[theme]}. Change`);
  }

  let theme = NEXT[stored()] ? stored() : "auto";
  show(theme);

  function start() {
    const button = document.getElementById("theme");
    if (!button) return;
    button.hidden = false;
    show(theme);
    button.addEventListener("click", () => {
      theme = NEXT[theme];
      keep(theme);
      show(theme);
    });
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
