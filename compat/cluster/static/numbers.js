// Puts the numbers of the table of vertices into the boxes of the graph, whenever either is drawn anew.
"use strict";
(() => {
  const data = document.getElementById("view-data");
  const live = document.getElementById("live");
  const canvas = document.querySelector(".canvas");
  if (!data || !live || !canvas) return;
  const program = JSON.parse(data.textContent).sections[0].sides.new;
  const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

  function told(number, what) {
    return number === "" ? "" : `${short.format(Number(number))} ${what}`;
  }

  function write(node, ...parts) {
    const text = parts.filter(Boolean).join(" · ");
    let place = node.querySelector(":scope > .flow");
    if (!place) {
      place = document.createElement("span");
      place.className = "flow";
      node.append(place);
    }
    if (place.textContent !== text) place.textContent = text;
  }

  function show() {
    const rows = new Map([...live.querySelectorAll("[data-vertex]")].map((row) => [row.dataset.vertex, row.dataset]));
    program.vertices.forEach((vertex, index) => {
      const row = rows.get(vertex.id);
      if (!row) return;
      const [read, written] = [told(row.in, "in"), told(row.out, "out")];
      const [first, last] = [vertex.operators[0], vertex.operators[vertex.operators.length - 1]];
      const box = canvas.querySelector(`.node.vertex[data-at="new:v${index}"]`);
      const line = box && box.closest(".box").querySelector(":scope > .closed");
      if (line) write(line, read, written);
      for (const operator of new Set([first, last])) {
        const node = canvas.querySelector(`.node.op[data-at="new:${operator}"]`);
        if (node) write(node, operator === first ? read : "", operator === last ? written : "");
      }
    });
  }

  // What is written here changes boxes, too: it is looked for what was drawn or put in the place of something.
  const drawn = new MutationObserver((changes) => {
    const own = (node) => node.nodeType === Node.TEXT_NODE || node.classList.contains("flow");
    if (changes.some((change) => [...change.addedNodes].some((node) => !own(node)))) show();
  });
  drawn.observe(canvas, { childList: true, subtree: true });
  drawn.observe(live, { childList: true });
  show();
})();
