// The keyboard: one stop for the whole picture, arrows from box to box, single keys for the rest.
"use strict";
((view) => {
  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

  view.startKeys = (actions) => {
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      const target = event.target;
      if (target.closest("input, textarea, select")) return;
      const node = target.closest(".canvas .node");
      if (node && ARROWS[event.key]) {
        move(node, ARROWS[event.key]);
        event.preventDefault();
        return;
      }
      const action = actions[event.key];
      if (!action) return;
      event.preventDefault();
      action(node);
    });
  };

  // To the nearest box in a direction; what lies straight ahead comes before what lies aside.
  function move(node, [dx, dy]) {
    const here = node.getBoundingClientRect();
    let best = null;
    let least = Infinity;
    for (const other of node.closest(".sheet").querySelectorAll(".node")) {
      if (other === node) continue;
      const there = other.getBoundingClientRect();
      const ahead = (there.left - here.left) * dx + (there.top - here.top) * dy;
      const aside = dx ? gap(here.top, here.bottom, there.top, there.bottom) : gap(here.left, here.right, there.left, there.right);
      const far = ahead + aside * 20;
      if (ahead > 4 && far < least) [best, least] = [other, far];
    }
    if (best) view.focusNode(best);
  }

  function gap(start, end, otherStart, otherEnd) {
    return Math.max(0, otherStart - end, start - otherEnd);
  }

  view.focusNode = (node) => {
    for (const other of node.closest(".sheet").querySelectorAll('.node[tabindex="0"]')) other.tabIndex = -1;
    node.tabIndex = 0;
    node.focus({ preventScroll: true });
    node.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
})(window.compatView);
