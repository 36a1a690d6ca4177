// Places boxes and arrows: in ranks, each behind those that its arrows come from.
//
// An arrow that passes ranks has a point in each of them, which is placed as a box without width is. Every step takes a time that is
// linear in the boxes and points, but for the sorting of ranks: three hundred boxes take some hundredths of a second.
"use strict";
((view) => {
  const WIDE = 850;
  const MARGIN = 18;
  const ASIDE = 30;
  const ALONG = 40;
  const POINT = 14;
  const LINE = 14;
  const SWEEPS = 12;
  const LONGEST_LABEL = 200;
  const YIELDING = 0.5; // a point makes way for a box

  // {width, height, down, boxes: [{x, y}], edges: [{points: [{x, y}], label: {x, y} or null}]}; x and y of a box are its centre.
  view.place = (boxes, edges) => {
    const forward = withoutCycles(boxes, edges);
    const rankOf = ranked(boxes, forward);
    const down = isDown(boxes, edges, rankOf);
    if (!boxes.length) return { width: 0, height: 60, boxes: [], edges: [], down };
    const graph = nodesOf(boxes, forward, rankOf, down);
    sort(graph);
    spread(graph);
    return drawn(graph, boxes, edges, forward, down);
  };

  // The edges as {from, to, turned}: those that lead back to where one came from are turned, so that all lead on.
  function withoutCycles(boxes, edges) {
    const after = boxes.map(() => []);
    edges.forEach(({ from }, index) => after[from].push(index));
    const state = boxes.map(() => 0); // 1 while one is on the way from it, 2 behind that
    const turned = new Set();
    for (const root of boxes.keys()) {
      const way = state[root] ? [] : [[root, 0]];
      if (way.length) state[root] = 1;
      while (way.length) {
        const top = way[way.length - 1];
        const index = after[top[0]][top[1]++];
        if (index === undefined) {
          state[top[0]] = 2;
          way.pop();
        } else if (state[edges[index].to] === 1) turned.add(index);
        else if (state[edges[index].to] === 0) {
          state[edges[index].to] = 1;
          way.push([edges[index].to, 0]);
        }
      }
    }
    return edges.map(({ from, to }, index) => (turned.has(index) ? { from: to, to: from, turned: true } : { from, to, turned: false }));
  }

  // How many boxes are before each on the longest way to it; what nothing leads to comes right before what it leads to.
  function ranked(boxes, edges) {
    const before = boxes.map(() => 0);
    const after = boxes.map(() => []);
    for (const { from, to } of edges) {
      if (from === to) continue;
      after[from].push(to);
      before[to]++;
    }
    const sources = [...boxes.keys()].filter((index) => !before[index]);
    const ranks = boxes.map(() => 0);
    const ready = [...sources];
    for (const index of ready) {
      for (const next of after[index]) {
        ranks[next] = Math.max(ranks[next], ranks[index] + 1);
        if (!--before[next]) ready.push(next);
      }
    }
    for (const index of sources) if (after[index].length) ranks[index] = Math.min(...after[index].map((next) => ranks[next])) - 1;
    return ranks;
  }

  // From top to bottom, unless that is too wide for a window and from left to right is less so.
  function isDown(boxes, edges, rankOf) {
    const ranks = new Map();
    rankOf.forEach((rank, index) => {
      const { width } = boxes[index];
      const { sum, most } = ranks.get(rank) || { sum: 0, most: 0 };
      ranks.set(rank, { sum: sum + width + ASIDE, most: Math.max(most, width) });
    });
    const widest = Math.max(0, ...[...ranks.values()].map(({ sum }) => sum));
    if (widest <= WIDE) return true;
    const label = Math.max(0, ...edges.map((edge) => edge.label || 0));
    return widest <= [...ranks.values()].reduce((width, { most }) => width + most + ALONG + label, 0);
  }

  // The boxes, and the points of the edges that pass ranks, as nodes: {size, along, before, after, weight, at}; and the ranks.
  function nodesOf(boxes, edges, rankOf, down) {
    const nodes = boxes.map(({ width, height }, index) => ({
      rank: rankOf[index], size: down ? width : height, along: down ? height : width, gap: ASIDE, before: [], after: [], at: 0, point: false,
    }));
    const ways = edges.map(({ from, to }) => {
      const way = [from];
      for (let rank = rankOf[from] + 1; rank < rankOf[to]; rank++) {
        nodes.push({ rank, size: 0, along: 0, gap: POINT, before: [], after: [], at: 0, point: true });
        way.push(nodes.length - 1);
      }
      if (from !== to) way.push(to);
      way.slice(1).forEach((node, index) => {
        nodes[way[index]].after.push(node);
        nodes[node].before.push(way[index]);
      });
      return way;
    });
    const ranks = Array.from({ length: Math.max(...rankOf) + 1 }, () => []);
    // In the order in which one comes to them from the sources, the end of a way first, so that what belongs together begins together.
    const seen = new Set();
    const starts = [...boxes.keys()].filter((index) => !nodes[index].before.length);
    for (const start of [...starts, ...nodes.keys()]) {
      const waiting = [start];
      while (waiting.length) {
        const node = waiting.pop();
        if (seen.has(node)) continue;
        seen.add(node);
        ranks[nodes[node].rank].push(node);
        waiting.push(...[...nodes[node].after].reverse());
      }
    }
    return { nodes, ranks, ways };
  }

  // Puts each rank in the order of the middles of what it is connected with, down and up again, and keeps what crosses least.
  function sort({ nodes, ranks }) {
    let best = ranks.map((rank) => [...rank]);
    let least = crossings(nodes, ranks);
    for (let sweep = 0; sweep < SWEEPS && least; sweep++) {
      const down = sweep % 2 === 0;
      const places = new Map();
      const number = (rank) => rank.forEach((node, index) => places.set(node, index));
      ranks.forEach(number);
      for (const rank of down ? ranks : [...ranks].reverse()) {
        const wanted = new Map(rank.map((node, index) => [node, middle(nodes[node][down ? "before" : "after"].map((other) => places.get(other))) ?? index]));
        rank.sort((one, other) => wanted.get(one) - wanted.get(other));
        number(rank);
      }
      const now = crossings(nodes, ranks);
      if (now < least) [best, least] = [ranks.map((rank) => [...rank]), now];
    }
    ranks.forEach((rank, index) => rank.splice(0, rank.length, ...best[index]));
  }

  function middle(places) {
    if (!places.length) return null;
    const sorted = [...places].sort((one, other) => one - other);
    const half = sorted.length >> 1;
    return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }

  // How many lines between neighbouring ranks cross: pairs in the wrong order, counted in a tree of sums.
  function crossings(nodes, ranks) {
    let count = 0;
    for (const [index, rank] of ranks.slice(0, -1).entries()) {
      const size = ranks[index + 1].length;
      const places = new Map(ranks[index + 1].map((node, place) => [node, place]));
      const sums = new Array(size + 1).fill(0);
      let passed = 0;
      for (const node of rank) {
        const ends = nodes[node].after.map((other) => places.get(other));
        for (const end of ends) {
          let before = 0;
          for (let place = end + 1; place > 0; place -= place & -place) before += sums[place];
          count += passed - before;
        }
        for (const end of ends) for (let place = end + 1; place <= size; place += place & -place) sums[place]++;
        passed += ends.length;
      }
    }
    return count;
  }

  // Gives each node its place aside: as near to the middle of its neighbours as the others of its rank let it.
  function spread({ nodes, ranks }) {
    for (const rank of ranks) settle(nodes, rank, () => null);
    for (let sweep = 0; sweep < SWEEPS; sweep++) {
      const side = sweep % 2 === 0 ? "after" : "before";
      for (const rank of side === "before" ? ranks : [...ranks].reverse()) settle(nodes, rank, (node) => middle(node[side].map((other) => nodes[other].at)));
    }
  }

  // The places of a rank that are, in all, nearest to those that are wanted while no two are too near. Neighbours that want to be nearer
  // are one block, which is where its members want to be on the average.
  function settle(nodes, rank, wanted) {
    const blocks = [];
    let offset = 0;
    rank.forEach((index, place) => {
      const node = nodes[index];
      const before = place ? nodes[rank[place - 1]] : null;
      if (before) offset += (before.size + node.size) / 2 + (before.gap + node.gap) / 2;
      node.offset = offset;
      const found = wanted(node);
      const weight = found === null ? 0.01 : node.point ? YIELDING : 1;
      blocks.push({ weight, sum: weight * ((found ?? node.at) - offset), members: [node] });
      while (blocks.length > 1 && blocks[blocks.length - 2].sum / blocks[blocks.length - 2].weight > blocks[blocks.length - 1].sum / blocks[blocks.length - 1].weight) {
        const last = blocks.pop();
        const block = blocks[blocks.length - 1];
        block.weight += last.weight;
        block.sum += last.sum;
        block.members.push(...last.members);
      }
    });
    for (const { weight, sum, members } of blocks) for (const node of members) node.at = sum / weight + node.offset;
  }

  // The places along the graph, and all of it as x and y.
  function drawn({ nodes, ranks, ways }, boxes, edges, forward, down) {
    const left = Math.min(...nodes.map(({ at, size }) => at - size / 2)) - MARGIN;
    const right = Math.max(...nodes.map(({ at, size }) => at + size / 2)) + MARGIN;
    const labels = ranks.map(() => 0); // the room for words behind a rank
    edges.forEach(({ label }, index) => {
      if (!label) return;
      const rank = nodes[labelled(nodes, ways[index])].rank;
      labels[rank] = Math.max(labels[rank], down ? LINE : Math.min(label, LONGEST_LABEL) + LINE);
    });
    let end = MARGIN - ALONG;
    const middles = [];
    const spaces = [];
    ranks.forEach((rank, index) => {
      const extent = Math.max(0, ...rank.map((node) => nodes[node].along));
      const start = end + ALONG + (index ? labels[index - 1] : 0);
      if (index) spaces.push((end + start) / 2);
      middles.push(start + extent / 2);
      end = start + extent;
    });
    const point = (along, at) => (down ? { x: at - left, y: along } : { x: along, y: at - left });
    const centre = (node) => point(middles[nodes[node].rank], nodes[node].at);
    const [aside, along] = [right - left, end + MARGIN];
    return {
      width: down ? aside : along,
      height: down ? along : aside,
      down,
      boxes: boxes.map((_, index) => centre(index)),
      edges: edges.map(({ label }, index) => {
        const way = ways[index];
        const points = way.map(centre);
        if (way.length < 2) return { points: [points[0], points[0]], label: null };
        const before = labelled(nodes, way);
        const step = way.indexOf(before);
        // Where several arrows come to one box, each has its word behind the box that it comes from.
        const beside = nodes[way[step + 1]].before.length > 1 && nodes[before].after.length === 1 ? before : way[step + 1];
        const word = label ? point(spaces[nodes[before].rank], nodes[beside].at) : null;
        if (word) points.splice(step + 1, 0, word);
        if (forward[index].turned) points.reverse();
        return { points, label: word };
      }),
    };
  }

  // The node of a way behind which its word stands: the last one before the end, unless several ways end there.
  function labelled(nodes, way) {
    return nodes[way[way.length - 1]].before.length > 1 ? way[0] : way[Math.max(0, way.length - 2)];
  }
})(window.compatView);
