// Asks the worker for places. In a page of one file the worker's text is in the page; from a service it is a script.
"use strict";
((view) => {
  let worker = null;
  let failed = null;
  let count = 0;
  const waiting = new Map();
  const known = new Map();

  function start() {
    const inline = document.getElementById("layout-worker");
    const place = inline
      ? URL.createObjectURL(new Blob([inline.textContent], { type: "text/javascript" }))
      : document.querySelector("[data-worker]").dataset.worker;
    worker = new Worker(place);
    worker.onmessage = ({ data }) => {
      const { resolve, reject } = waiting.get(data.id);
      waiting.delete(data.id);
      if (data.error) reject(new Error(data.error));
      else resolve(data);
    };
    worker.onerror = (event) => {
      failed = new Error(event.message || "the browser refused the script that places the boxes");
      for (const { reject } of waiting.values()) reject(failed);
      waiting.clear();
    };
  }

  // A promise of {width, height, boxes: [{x, y}], edges: [[{x, y}]]}; x and y of a box are its centre.
  view.place = (boxes, edges) => {
    const key = JSON.stringify([boxes, edges]);
    if (!known.has(key)) {
      known.set(key, new Promise((resolve, reject) => {
        if (!worker && !failed) {
          try {
            start();
          } catch (error) {
            failed = error;
          }
        }
        if (failed) {
          reject(failed);
          return;
        }
        const id = ++count;
        waiting.set(id, { resolve, reject });
        worker.postMessage({ id, boxes, edges });
      }));
    }
    return known.get(key);
  };
})(window.compatView);
