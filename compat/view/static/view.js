// The page: the address says what is shown, everything that is clicked or typed changes the address.
"use strict";
((view) => {
  const sections = view.readSections();
  if (!sections.length) return;
  let state = view.readAddress(sections);
  const here = () => sections[state.section];

  function go(change) {
    view.writeAddress({ ...state, ...change });
  }

  function goTo(text, more = {}) {
    const [, side, vertex, index] = /^(old|new):(v?)(\d+)$/.exec(text);
    go({ at: { side, vertex: vertex === "v", index: Number(index) }, ...more });
  }

  async function show() {
    const before = state;
    state = view.readAddress(sections);
    for (const section of sections) section.element.hidden = section !== here();
    for (const link of document.querySelectorAll("[data-section-link]")) {
      if (Number(link.dataset.sectionLink) === state.section) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    const section = here();
    document.title = `${section.verdict_words}: ${section.title}`;
    if (!section.drawn) return;
    const { element } = section;
    element.querySelector(".toolbar").hidden = false;
    element.querySelector(".picture").hidden = state.view !== "picture";
    element.querySelector(".tables").hidden = state.view !== "tables";
    press(element, "view", state.view);
    press(element, "layer", state.layer);
    element.querySelector(".layers").classList.toggle("away", state.view !== "picture");
    element.querySelector("[data-chains]").classList.toggle("away", state.view !== "picture" || state.layer === "execution");
    const changed = element.querySelector("[data-changed]");
    if (changed) {
      changed.classList.toggle("away", state.view !== "picture");
      changed.setAttribute("aria-pressed", String(view.onlyChanged(section, state)));
    }
    view.showDrawer(section, state);
    showFinding(section, before);
    showRows(section);
    if (state.view === "picture") await view.showPicture(section, state);
    chains(section);
    element.dataset.ready = location.hash || "#";
  }

  function press(element, name, value) {
    for (const button of element.querySelectorAll(`[data-${name}]`)) button.setAttribute("aria-pressed", String(button.dataset[name] === value));
  }

  function showFinding(section, before) {
    for (const article of section.element.querySelectorAll("[data-finding]")) {
      const is = Number(article.dataset.finding) === state.finding;
      const about = state.at && !state.at.vertex && section.findings[Number(article.dataset.finding)].concerned[state.at.side].includes(state.at.index);
      article.classList.toggle("selected", is);
      article.classList.toggle("about", Boolean(about));
      if (is && before.finding !== state.finding) {
        expand(article, true);
        article.scrollIntoView({ block: "nearest" });
      }
    }
  }

  function expand(article, open) {
    article.querySelector("h3 button").setAttribute("aria-expanded", String(open));
    article.querySelector(".body").hidden = !open;
  }

  function showRows(section) {
    for (const row of section.element.querySelectorAll(".tables tr.selected")) row.classList.remove("selected");
    if (!state.at || state.at.vertex || state.view !== "tables") return;
    const { side, index } = state.at;
    const row = section.element.querySelector(`[data-row="${side}:${index}"]`);
    for (const found of section.element.querySelectorAll(`:is(.mapping, .ledger) [data-${side}="${index}"]`)) found.classList.add("selected");
    if (!row) return;
    row.classList.add("selected");
    row.scrollIntoView({ block: "nearest" });
  }

  // The button that opens or closes all chains says which of the two it does.
  function chains(section) {
    const button = section.element.querySelector("[data-chains]");
    const toggles = [...section.element.querySelectorAll("[data-toggle]")];
    button.disabled = !toggles.length;
    button.textContent = toggles.some((toggle) => toggle.getAttribute("aria-expanded") === "true") ? "Close all chains" : "Open all chains";
  }

  function opened(section) {
    return [...new Set([...section.element.querySelectorAll('[data-toggle][aria-expanded="true"]')].map((toggle) => Number(toggle.dataset.toggle)))];
  }

  function toggle(place) {
    const open = opened(here());
    go({ open: open.includes(place) ? open.filter((other) => other !== place) : [...open, place].sort((one, other) => one - other) });
  }

  function toggleAll() {
    const all = [...new Set([...here().element.querySelectorAll("[data-toggle]")].map((button) => Number(button.dataset.toggle)))];
    go({ open: opened(here()).length ? [] : all });
  }

  function toggleChanged() {
    if (here().kind === "check") go({ show: view.onlyChanged(here(), state) ? "all" : "changed", view: "picture" });
  }

  function nextFinding(step) {
    const count = here().findings.length;
    if (!count) return;
    const from = state.finding === null ? (step > 0 ? -1 : 0) : state.finding;
    goToFinding((from + step + count) % count);
  }

  function goToFinding(index) {
    const finding = here().findings[index];
    const side = finding.new !== null ? "new" : finding.old !== null ? "old" : null;
    go({ finding: index, at: side ? { side, vertex: false, index: finding[side] } : null });
  }

  function zoomBy(factor) {
    view.zoom(here(), factor === null ? "fit" : here().layout.used * factor);
  }

  const help = document.getElementById("help");
  const actions = {
    "/": () => here().element.querySelector('input[type="search"]').focus(),
    1: () => go({ layer: "stream", view: "picture" }),
    2: () => go({ layer: "job", view: "picture" }),
    3: () => go({ layer: "execution", view: "picture" }),
    t: () => go({ view: state.view === "picture" ? "tables" : "picture" }),
    c: () => toggleChanged(),
    n: () => nextFinding(1),
    p: () => nextFinding(-1),
    o: (node) => {
      const box = (node || here().element.querySelector(".node.selected"))?.closest(".chain");
      if (box) toggle(Number(box.querySelector("[data-toggle]").dataset.toggle));
    },
    "+": () => zoomBy(1.25),
    "-": () => zoomBy(0.8),
    0: () => zoomBy(null),
    "?": () => help.showModal(),
    Escape: () => close(),
  };

  function close() {
    const chosen = state.at ? view.atText(state.at) : null;
    const inside = document.activeElement.closest(".drawer");
    go({ at: null, finding: null });
    const node = here().element.querySelector(`.canvas [data-at="${chosen}"]`);
    if (inside && node) view.focusNode(node);
  }

  document.addEventListener("click", (event) => {
    const of = (selector) => event.target.closest(selector);
    const part = of("[data-go], [data-go-finding], [data-at].node, [data-toggle], [data-view], [data-layer], [data-chains], [data-changed], [data-zoom], [data-close], [data-help], [data-close-help], .finding h3 button");
    if (!part) return;
    const { dataset } = part;
    if (dataset.go !== undefined) {
      event.preventDefault();
      const finding = part.closest("[data-finding]");
      goTo(dataset.go, finding ? { finding: Number(finding.dataset.finding) } : {});
    } else if (dataset.goFinding !== undefined) {
      event.preventDefault();
      go({ finding: Number(dataset.goFinding) });
    } else if (dataset.toggle !== undefined) toggle(Number(dataset.toggle));
    else if (dataset.at !== undefined) goTo(dataset.at);
    else if (dataset.view !== undefined) go({ view: dataset.view });
    else if (dataset.layer !== undefined) go({ layer: dataset.layer });
    else if (dataset.chains !== undefined) toggleAll();
    else if (dataset.changed !== undefined) toggleChanged();
    else if (dataset.zoom !== undefined) zoomBy({ in: 1.25, out: 0.8, fit: null }[dataset.zoom]);
    else if (dataset.close !== undefined) close();
    else if (dataset.help !== undefined) help.showModal();
    else if (dataset.closeHelp !== undefined) help.close();
    else expand(part.closest(".finding"), part.getAttribute("aria-expanded") !== "true");
  });

  // The picture moves with the pointer that drags its ground.
  for (const canvas of document.querySelectorAll(".canvas")) {
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.pointerType === "touch" || event.target.closest("button")) return;
      const from = { x: event.clientX + canvas.scrollLeft, y: event.clientY + canvas.scrollTop };
      canvas.setPointerCapture(event.pointerId);
      canvas.classList.add("dragged");
      canvas.onpointermove = (moved) => canvas.scrollTo(from.x - moved.clientX, from.y - moved.clientY);
      canvas.onpointerup = canvas.onpointercancel = () => {
        canvas.onpointermove = null;
        canvas.classList.remove("dragged");
      };
    });
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      zoomBy(event.deltaY < 0 ? 1.1 : 0.9);
    }, { passive: false });
  }

  // Draws the picture anew where its scale follows from the room that it has.
  function refit() {
    if (here().drawn && typeof here().layout.scale === "string") view.zoom(here(), here().layout.scale);
  }

  for (const section of sections) {
    if (!section.drawn) continue;
    view.startSearch(section, (hit) => goTo(hit));
    view.startPanel(section, refit);
    view.startMap(section);
    for (const article of section.element.querySelectorAll("[data-finding]")) expand(article, article.dataset.finding === "0");
  }
  view.startKeys(actions);
  window.addEventListener("hashchange", show);
  window.addEventListener("resize", refit);
  show();
})(window.compatView);
