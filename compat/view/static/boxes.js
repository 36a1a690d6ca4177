// Which boxes of a layer are drawn, how large they are, and what stands in them.
"use strict";
((view) => {
  const { el } = view;
  const MOST = 300;
  const WIDTH = 236;
  const ROW = 46;
  const HEAD = 34;

  view.BOX = { WIDTH, ROW, HEAD };

  // What to draw of a layer: {layer, boxes: places in the layer, open: Set, reason}.
  view.choose = (section, state) => {
    let layer = state.layer;
    let reason = "";
    const operators = section.layers.stream.boxes.length;
    if (layer === "stream" && operators > MOST && section.layers.job.boxes.length) {
      layer = "job";
      reason = `${operators} operators are more than the ${MOST} that are drawn at once: they are collapsed by vertex. ` +
        "Open a vertex to see its operators; the table has them all.";
    }
    const all = section.layers[layer].boxes;
    const shown = all.length > MOST ? around(section, layer, state) : all.map((_, place) => place);
    if (shown.length < all.length) {
      const what = layer === "stream" ? "operators" : "vertices";
      reason = `${all.length} ${what} are more than the ${MOST} that are drawn at once: ` +
        `these are the ${shown.length} nearest to ${state.at ? "what you selected" : "the findings"}. ` +
        "Find another one to move there; the table has them all.";
    }
    return { layer, boxes: shown, open: layer === "job" ? opened(section, state, shown) : new Set(), reason };
  };

  // Chains are open from the start where the whole fits; the address says otherwise.
  function opened(section, state, shown) {
    const chains = shown.filter((place) => section.layers.job.boxes[place].slots.length > 1);
    if (state.open !== null) return new Set(chains.filter((place) => state.open.includes(place)));
    const rows = chains.reduce((sum, place) => sum + section.layers.job.boxes[place].slots.length, 0);
    return new Set(rows <= 60 ? chains : []);
  }

  // As many boxes as are drawn at once, found by walking from what matters, both ways along the edges.
  function around(section, layer, state) {
    const { boxes, edges } = section.layers[layer];
    const near = boxes.map(() => []);
    for (const edge of edges) {
      near[edge.from].push(edge.to);
      near[edge.to].push(edge.from);
    }
    const seen = new Set();
    const queue = [...seeds(section, layer, state), ...boxes.keys()];
    while (seen.size < MOST) {
      const walk = [queue.shift()];
      while (walk.length && seen.size < MOST) {
        const place = walk.shift();
        if (seen.has(place)) continue;
        seen.add(place);
        walk.push(...near[place].filter((other) => !seen.has(other)));
      }
    }
    return [...seen].sort((one, other) => one - other);
  }

  function seeds(section, layer, state) {
    const wanted = [];
    if (state.at && !state.at.vertex) wanted.push(section.boxOf(layer, state.at.side, state.at.index));
    if (state.at && state.at.vertex) wanted.push(section.layers[layer].boxes.findIndex((box) => box[state.at.side] === state.at.index));
    for (const finding of section.findings) {
      for (const side of view.SIDES) wanted.push(...finding.concerned[side].map((operator) => section.boxOf(layer, side, operator)));
    }
    return wanted.filter((place) => place !== undefined && place >= 0);
  }

  view.size = (section, chosen, place) => {
    if (chosen.layer === "stream") return { width: WIDTH, height: ROW + 8 };
    if (chosen.layer === "execution") return { width: WIDTH, height: HEAD + (section.kind === "check" ? 62 : 44) };
    const slots = section.layers.job.boxes[place].slots.length;
    return { width: WIDTH, height: chosen.open.has(place) ? HEAD + slots * ROW + 6 : slots > 1 ? HEAD + 24 : ROW + 8 };
  };

  // The element of one box on one side.
  view.box = (section, chosen, place, side) => {
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
        : el("div", { class: "closed" }, view.plural(vertex.operators.length, "operator"), marks(section, side, vertex.operators)));
  };

  function operator(section, side, index) {
    const item = section.operator(side, index);
    const rows = section.rows[side].get(index) || [];
    const row = worst(rows);
    const states = item.states === null ? "states not known" : item.states.length ? view.plural(item.states.length, "state") : "";
    const found = section.found[side].get(index) || [];
    const said = [item.name, item.kind, item.uid === null ? null : `uid ${item.uid}`, states, row ? row.words : null,
      found.length ? view.plural(found.length, "finding") : null];
    return el("button", { type: "button", class: `node op${item.has_state ? " stateful" : ""}`, "data-at": `${side}:${index}`, tabindex: -1,
      title: item.name, "aria-label": said.filter(Boolean).join(", ") },
      el("span", { class: "name" }, item.name),
      el("span", { class: "meta" }, [item.kind, states].filter(Boolean).join(" · ")),
      row ? el("span", { class: `fate ${row.fate}` }, short(row)) : null,
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
      el("div", { class: "closed" }, marks(section, side, vertex.operators)));
  }

  // What a closed box says of its operators: the fates, each once.
  function marks(section, side, members) {
    const fates = new Map();
    for (const member of members) for (const row of section.rows[side].get(member) || []) fates.set(row.fate, row);
    return [...fates.values()].map((row) => el("span", { class: `fate ${row.fate}` }, short(row)));
  }

  const ORDER = ["refused", "lost", "dropped", "wrong-hands", "unknown", "migrated", "empty", "restored"];
  const SHORT = { "wrong-hands": "wrong hands", empty: "starts empty", unknown: "not known" };

  function worst(rows) {
    return [...rows].sort((one, other) => ORDER.indexOf(one.fate) - ORDER.indexOf(other.fate))[0];
  }

  view.shortFate = short;

  function short(row) {
    return SHORT[row.fate] || row.fate;
  }
})(window.compatView);
