// How large the boxes of a layer are, and what stands in them.
"use strict";
((view) => {
  const { el } = view;
  const WIDTH = 214;
  const ROW = 46;
  const HEAD = 34;

  const GAP = 134;
  const PAD = 7;

  view.BOX = { WIDTH, ROW, HEAD, GAP, PAD };

  // The size of a box on one side.
  view.size = (section, chosen, place) => {
    if (chosen.layer === "stream") return { width: WIDTH, height: ROW + 8 };
    if (chosen.layer === "execution") return { width: WIDTH, height: HEAD + (section.kind === "check" ? 62 : 44) };
    const slots = section.layers.job.boxes[place].slots.length;
    return { width: WIDTH, height: chosen.open.has(place) ? HEAD + slots * ROW + 6 : slots > 1 ? HEAD + 24 : ROW + 8 };
  };

  // The element of one box on one side.
  view.box = (section, chosen, place, side) => {
    const element = content(section, chosen, place, side);
    element.classList.add(side);
    element.dataset.place = place;
    return element;
  };

  function content(section, chosen, place, side) {
    const box = section.layers[chosen.layer].boxes[place];
    if (chosen.layer === "stream") return el("div", { class: "box single" }, operator(section, side, box[side]));
    const vertex = section.sides[side].vertices[box[side]];
    if (chosen.layer === "execution") return execution(section, side, box[side], vertex);
    if (vertex.operators.length === 1 && box.slots.length === 1) {
      return el("div", { class: "box single" }, operator(section, side, vertex.operators[0]));
    }
    const open = chosen.open.has(place);
    return el("div", { class: `box chain${open ? " open" : ""}` },
      el("div", { class: "head" },
        el("button", { type: "button", class: "toggle", "data-toggle": place, "aria-expanded": String(open), tabindex: -1,
          "aria-label": `${open ? "Close" : "Open"} the chain ${vertex.name}` }, open ? "▾" : "▸"),
        el("button", { type: "button", class: "node vertex", "data-at": `${side}:v${box[side]}`, tabindex: -1, title: vertex.name,
          "aria-label": `Vertex ${vertex.name}, ${view.plural(vertex.operators.length, "operator")}, parallelism ${vertex.parallelism}` },
          el("span", { class: "name" }, vertex.name),
          el("span", { class: "times" }, `×${vertex.parallelism}`))),
      open
        ? box.slots.map((slot) => slot[side === "old" ? 0 : 1]).map((index) =>
          index === null ? el("div", { class: "gap" }) : operator(section, side, index))
        : el("div", { class: "closed" }, told(section, side, view.plural(vertex.operators.length, "operator")), marks(section, side, vertex.operators)));
  }

  function operator(section, side, index) {
    const item = section.operator(side, index);
    const rows = section.rows[side].get(index) || [];
    const row = rows[0]; // the worst: so the mapping is ordered
    const states = item.states === null ? "states not known" : item.states.length ? view.plural(item.states.length, "state") : "";
    const found = section.found[side].get(index) || [];
    const said = [item.name, item.kind, item.uid === null ? null : `uid ${item.uid}`, states, row ? row.words : null,
      found.length ? view.plural(found.length, "finding") : null];
    return el("button", { type: "button", class: `node op${item.has_state ? " stateful" : ""}`, "data-at": `${side}:${index}`, tabindex: -1,
      title: item.name, "aria-label": said.filter(Boolean).join(", ") },
      el("span", { class: "name" }, item.name),
      el("span", { class: "meta" }, told(section, side, item.kind, states)),
      found.length ? el("span", { class: `mark ${section.level(side, index)}` }, String(found.length)) : null);
  }

  function execution(section, side, index, vertex) {
    const pips = Math.min(vertex.parallelism, 24);
    return el("div", { class: "box" },
      el("div", { class: "head" },
        el("button", { type: "button", class: "node vertex", "data-at": `${side}:v${index}`, tabindex: -1, title: vertex.name,
          "aria-label": `Vertex ${vertex.name}, ${view.plural(vertex.parallelism, "subtask")} of at most ${vertex.max_parallelism}` },
          el("span", { class: "name" }, vertex.name))),
      el("div", { class: "pips", "aria-hidden": true },
        Array.from({ length: pips }, () => el("i", {})),
        vertex.parallelism > pips ? el("span", {}, `+${vertex.parallelism - pips}`) : null),
      el("div", { class: "closed" }, `${view.plural(vertex.parallelism, "subtask")} of at most ${vertex.max_parallelism}`),
      el("div", { class: "closed" }, told(section, side), marks(section, side, vertex.operators)));
  }

  // What is said below a name: which side it is, where there are two, and the rest.
  function told(section, side, ...parts) {
    return [section.kind === "check" ? side.toUpperCase() : null, ...parts].filter(Boolean).join(" · ");
  }

  // What a closed box says of its operators: the fates, each once, the worst first.
  function marks(section, side, members) {
    const fates = new Map();
    for (const row of section.mapping) if (members.includes(row[side]) && !fates.has(row.fate)) fates.set(row.fate, row);
    return [...fates.values()].map((row) => el("span", { class: `fate ${row.fate}` }, short(row)));
  }

  const SHORT = { "wrong-hands": "wrong hands", empty: "starts empty", unknown: "not known" };

  view.shortFate = short;

  function short(row) {
    return SHORT[row.fate] || row.fate;
  }
})(window.compatView);
