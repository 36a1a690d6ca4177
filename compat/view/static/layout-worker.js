// Places boxes and arrows, away from the page: dagre in a worker.
"use strict";
if (typeof dagre === "undefined") importScripts("vendor/dagre.min.js");

const WIDE = 850;
const MANY = 100;
const BETWEEN = { nodesep: 30, ranksep: 40, edgesep: 14, marginx: 18, marginy: 18 };

self.onmessage = ({ data }) => {
  try {
    self.postMessage({ id: data.id, ...place(data.boxes, data.edges) });
  } catch (error) {
    self.postMessage({ id: data.id, error: String(error && error.message ? error.message : error) });
  }
};

function place(boxes, edges) {
  const down = isDown(boxes, edges);
  if (!boxes.length) return { width: 0, height: 60, boxes: [], edges: [], down };
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  // The shortest arrows of all take most of the time, and in a large graph nobody sees that they are.
  graph.setGraph({ ...BETWEEN, rankdir: down ? "TB" : "LR", ranker: boxes.length > MANY ? "tight-tree" : "network-simplex" });
  boxes.forEach((box, index) => graph.setNode(String(index), { width: box.width, height: box.height }));
  edges.forEach((edge, index) => {
    const label = edge.label ? { width: Math.min(edge.label, 200), height: 14, labelpos: "c" } : {};
    graph.setEdge(String(edge.from), String(edge.to), label, String(index));
  });
  dagre.layout(graph);
  const { width, height } = graph.graph();
  return {
    width,
    height,
    down,
    boxes: boxes.map((_, index) => {
      const { x, y } = graph.node(String(index));
      return { x, y };
    }),
    edges: edges.map((edge, index) => {
      const { points, x, y } = graph.edge({ v: String(edge.from), w: String(edge.to), name: String(index) });
      return { points, label: edge.label ? { x, y } : null };
    }),
  };
}

// From top to bottom, unless that is too wide for a window and from left to right is less so. The widths are told from how many
// boxes have as many others before them: to place all boxes both ways would take twice the time.
function isDown(boxes, edges) {
  const ranks = new Map();
  rankOf(boxes, edges).forEach((rank, index) => {
    const { width } = boxes[index];
    const { sum, most } = ranks.get(rank) || { sum: 0, most: 0 };
    ranks.set(rank, { sum: sum + width + BETWEEN.nodesep, most: Math.max(most, width) });
  });
  const widest = Math.max(0, ...[...ranks.values()].map(({ sum }) => sum));
  if (widest <= WIDE) return true;
  const label = Math.max(0, ...edges.map((edge) => edge.label || 0));
  return widest <= [...ranks.values()].reduce((width, { most }) => width + most + BETWEEN.ranksep + label, 0);
}

// How many boxes are before each on the longest way to it; a way that comes back to where it was ends there.
function rankOf(boxes, edges) {
  const before = boxes.map(() => 0);
  const after = boxes.map(() => []);
  for (const { from, to } of edges) {
    after[from].push(to);
    before[to]++;
  }
  const ranks = boxes.map(() => 0);
  const ready = [...boxes.keys()].filter((index) => !before[index]);
  for (const index of ready) {
    for (const next of after[index]) {
      ranks[next] = Math.max(ranks[next], ranks[index] + 1);
      if (!--before[next]) ready.push(next);
    }
  }
  return ranks;
}
