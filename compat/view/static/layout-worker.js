// Places boxes and arrows, away from the page: dagre in a worker.
"use strict";
if (typeof dagre === "undefined") importScripts("vendor/dagre.min.js");

const WIDE = 850;

self.onmessage = ({ data }) => {
  try {
    self.postMessage({ id: data.id, ...place(data.boxes, data.edges) });
  } catch (error) {
    self.postMessage({ id: data.id, error: String(error && error.message ? error.message : error) });
  }
};

// From top to bottom, unless that is too wide to stand beside another one and from left to right is less so.
function place(boxes, edges) {
  if (!boxes.length) return { width: 0, height: 60, boxes: [], edges: [] };
  const down = placed(boxes, edges, "TB");
  if (down.width <= WIDE) return down;
  const across = placed(boxes, edges, "LR");
  return across.width < down.width ? across : down;
}

function placed(boxes, edges, rankdir) {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir, nodesep: 30, ranksep: 34, edgesep: 14, marginx: 18, marginy: 18 });
  boxes.forEach((box, index) => graph.setNode(String(index), { width: box.width, height: box.height }));
  edges.forEach((edge, index) => {
    const label = edge.label ? { width: Math.min(edge.label, 200), height: 14, labelpos: "c" } : {};
    graph.setEdge(String(edge.from), String(edge.to), label, String(index));
  });
  dagre.layout(graph);
  return {
    width: graph.graph().width,
    height: graph.graph().height,
    boxes: boxes.map((_, index) => {
      const { x, y } = graph.node(String(index));
      return { x, y };
    }),
    edges: edges.map((edge, index) => graph.edge({ v: String(edge.from), w: String(edge.to), name: String(index) }).points),
  };
}
