// Which boxes of a layer are drawn, and which arrows between them.
"use strict";
((view) => {
  const MOST = 300;
  const MANY = 60;
  const FEW = 8;

  // Whether only what changed is drawn: as the address says, else in checks of more operators than one looks over.
  view.onlyChanged = (section, state) =>
    section.kind === "check" && (state.show === null ? section.layers.stream.boxes.length > MANY : state.show === "changed");

  // What to draw of a layer: {layer, boxes: places in the layer, edges, open: Set, reason}.
  view.choose = (section, state) => {
    let layer = state.layer;
    const reasons = [];
    const operators = section.layers.stream.boxes.length;
    if (layer === "stream" && !view.onlyChanged(section, state) && operators > MOST && section.layers.job.boxes.length) {
      layer = "job";
      reasons.push(`${operators} operators are more than the ${MOST} that are drawn at once: they are collapsed by vertex. ` +
        "Open a vertex to see its operators; the table has them all.");
    }
    const what = layer === "stream" ? "operators" : "vertices";
    const all = section.layers[layer].boxes.map((_, place) => place);
    const wanted = view.onlyChanged(section, state) ? changed(section, layer, state) : all;
    if (!wanted.length) reasons.push("Nothing changed: all is drawn.");
    else if (wanted.length < all.length) {
      reasons.push(`Drawn are ${wanted.length} of ${all.length} ${what}: those that changed or that a finding is about, and their neighbours.`);
    }
    const candidates = wanted.length ? wanted : all;
    const shown = candidates.length > MOST ? around(section, layer, state, candidates) : candidates;
    if (shown.length < candidates.length) {
      reasons.push(`${candidates.length} ${what} are more than the ${MOST} that are drawn at once: ` +
        `these are the ${shown.length} nearest to ${state.at ? "what you selected" : "the findings"}. ` +
        "Find another one to move there; the table has them all.");
    }
    return {
      layer,
      boxes: shown,
      edges: edges(section.layers[layer], new Set(shown), wanted.length > 0 && wanted.length < all.length),
      open: layer === "job" ? opened(section, state, shown) : new Set(),
      reason: reasons.join(" "),
    };
  };

  // The boxes that changed, what is selected, and the neighbours of each that has only a few.
  function changed(section, layer, state) {
    const { boxes, edges } = section.layers[layer];
    const stream = new Set(section.changed);
    const is = (box, place) => layer === "stream" ? stream.has(place) : box.old === null || box.new === null ||
      view.SIDES.some((side) => section.sides[side].vertices[box[side]].operators.some((member) => stream.has(section.boxOf("stream", side, member))));
    const found = new Set([...boxes.keys()].filter((place) => is(boxes[place], place)));
    if (!found.size) return [];
    for (const place of selected(section, layer, state)) found.add(place);
    const near = neighbours(section.layers[layer]);
    for (const place of [...found]) if (near[place].length <= FEW) for (const other of near[place]) found.add(other);
    return [...found].sort((one, other) => one - other);
  }

  function neighbours({ boxes, edges }) {
    const near = boxes.map(() => []);
    for (const edge of edges) {
      near[edge.from].push(edge.to);
      near[edge.to].push(edge.from);
    }
    return near;
  }

  // The arrows between what is drawn; where something was left out on the way, one arrow stands for all of it.
  function edges(layer, shown, bridged) {
    const found = layer.edges.filter((edge) => shown.has(edge.from) && shown.has(edge.to));
    if (!bridged) return found;
    const bridges = new Map();
    for (const side of view.SIDES) {
      const after = layer.boxes.map(() => []);
      for (const edge of layer.edges) if (edge[side] !== null) after[edge.from].push(edge.to);
      for (const start of shown) {
        for (const [end, passed] of beyond(start, after, shown)) {
          const key = `${start}/${end}`;
          if (!bridges.has(key)) bridges.set(key, { from: start, to: end, old: null, new: null, bridge: true });
          bridges.get(key)[side] = `⋯ ${passed} unchanged`;
        }
      }
    }
    return [...found, ...bridges.values()];
  }

  // What is reached from a box through boxes that are not drawn, with how many those are on the shortest way.
  function beyond(start, after, shown) {
    const found = new Map();
    const seen = new Set();
    let front = after[start].filter((place) => !shown.has(place));
    for (let passed = 1; front.length; passed++) {
      const next = [];
      for (const place of front) {
        if (seen.has(place)) continue;
        seen.add(place);
        for (const other of after[place]) {
          if (!shown.has(other)) next.push(other);
          else if (!found.has(other)) found.set(other, passed);
        }
      }
      front = next;
    }
    return found;
  }

  // Chains are open from the start where the whole fits; the address says otherwise.
  function opened(section, state, shown) {
    const chains = shown.filter((place) => section.layers.job.boxes[place].slots.length > 1);
    if (state.open !== null) return new Set(chains.filter((place) => state.open.includes(place)));
    const rows = chains.reduce((sum, place) => sum + section.layers.job.boxes[place].slots.length, 0);
    return new Set(rows <= 60 ? chains : []);
  }

  // As many of the boxes as are drawn at once, found by walking from what matters, both ways along the edges.
  function around(section, layer, state, candidates) {
    const near = neighbours(section.layers[layer]);
    const among = new Set(candidates);
    const seen = new Set();
    const queue = [...seeds(section, layer, state), ...candidates];
    while (seen.size < MOST && queue.length) {
      const walk = [queue.shift()];
      while (walk.length && seen.size < MOST) {
        const place = walk.shift();
        if (seen.has(place) || !among.has(place)) continue;
        seen.add(place);
        walk.push(...near[place].filter((other) => !seen.has(other)));
      }
    }
    return [...seen].sort((one, other) => one - other);
  }

  function selected(section, layer, state) {
    if (!state.at) return [];
    const place = state.at.vertex
      ? section.layers[layer].boxes.findIndex((box) => box[state.at.side] === state.at.index)
      : section.boxOf(layer, state.at.side, state.at.index);
    return place === undefined || place < 0 ? [] : [place];
  }

  function seeds(section, layer, state) {
    const wanted = selected(section, layer, state);
    for (const finding of section.findings) {
      for (const side of view.SIDES) wanted.push(...finding.concerned[side].map((operator) => section.boxOf(layer, side, operator)));
    }
    return wanted.filter((place) => place !== undefined);
  }
})(window.compatView);
