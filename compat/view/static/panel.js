// The panel of findings: as wide as one wants it, and with code that can be taken along.
"use strict";
((view) => {
  const KEY = "compat-findings";
  const STEP = 24;

  function kept() {
    try {
      return Number(localStorage.getItem(KEY)) || null;
    } catch {
      return null;
    }
  }

  function keep(width) {
    try {
      if (width === null) localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, String(width));
    } catch {
      // As with the colours: where nothing may be kept, it lasts as long as the page.
    }
  }

  function most(grip) {
    return Math.min(Number(grip.getAttribute("aria-valuemax")), Math.max(Number(grip.getAttribute("aria-valuemin")), window.innerWidth - 420));
  }

  // Sets the width, in pixels; null is the one of the design.
  function widen(grip, width) {
    const stage = grip.closest(".stage");
    const used = width === null ? null : Math.round(Math.max(Number(grip.getAttribute("aria-valuemin")), Math.min(most(grip), width)));
    if (used === null) stage.style.removeProperty("--findings");
    else stage.style.setProperty("--findings", `${used}px`);
    grip.setAttribute("aria-valuenow", String(used ?? Math.round(here(grip))));
    return used;
  }

  function here(grip) {
    return grip.closest(".stage").querySelector(".findings").getBoundingClientRect().width;
  }

  view.startPanel = (section, changed) => {
    const grip = section.element.querySelector(".grip");
    if (!grip) return;
    const set = (width) => {
      keep(widen(grip, width));
      changed();
    };
    if (kept() !== null) widen(grip, kept());
    else if (here(grip)) grip.setAttribute("aria-valuenow", String(Math.round(here(grip))));
    grip.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const from = here(grip) - event.clientX;
      grip.setPointerCapture(event.pointerId);
      grip.onpointermove = (moved) => set(from + moved.clientX);
      grip.onpointerup = grip.onpointercancel = () => {
        grip.onpointermove = null;
      };
      event.preventDefault();
    });
    grip.addEventListener("dblclick", () => set(null));
    grip.addEventListener("keydown", (event) => {
      const width = { ArrowLeft: here(grip) - STEP, ArrowRight: here(grip) + STEP, Home: 0, End: Infinity, Enter: null }[event.key];
      if (width === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      set(width);
    });
  };

  async function copy(text) {
    if (navigator.clipboard && window.isSecureContext) {
      await navigator.clipboard.writeText(text);
      return;
    }
    const area = view.el("textarea", { class: "unseen", readonly: true, "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("the browser does not let a page copy");
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    let words = "Copied";
    try {
      await copy(button.dataset.copy);
    } catch {
      words = "Not allowed";
    }
    button.textContent = words;
    document.getElementById("told").textContent = words;
    button.focus();
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2000);
  });
})(window.compatView);
