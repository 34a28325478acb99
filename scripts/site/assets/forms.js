// Shared by the site's forms: stores a form's values in the address, and runs Python in a worker.
"use strict";
window.rtmForms = {
  // Stores changed values in the address after `#`, which browsers do not send to servers, so a link reproduces a result.
  share(form, update) {
    const mark = `#${form.id}?`;
    const initial = new Map([...form.querySelectorAll("input, select")].map(({ id, value }) => [id, value]));
    const restore = () => {
      if (!location.hash.startsWith(mark)) return;
      for (const [id, value] of new URLSearchParams(location.hash.slice(mark.length))) {
        if (initial.has(id)) form.elements[id].value = value;
      }
      form.scrollIntoView();
    };
    form.addEventListener("input", () => {
      const changed = [...initial].map(([id, value]) => [id, value, form.elements[id].value]);
      const numbers = changed.filter(([, before, now]) => before !== now).map(([id, , now]) => [id, now]);
      history.replaceState(null, "", mark + new URLSearchParams(numbers));
      update();
    });
    addEventListener("hashchange", () => { restore(); update(); });
    form.addEventListener("submit", (event) => event.preventDefault());
    restore();
    update();
  },

  // Sends a message to Python; the first message loads Python. The reply contains a `problem` if Python did not load.
  python(form) {
    const script = new URL("python_worker.mjs", this.place);
    let worker = null;
    return (message) => new Promise((resolve) => {
      if (!worker) {
        worker = new Worker(script, { type: "module" });
        worker.postMessage({ base: new URL(form.dataset.base, location.href).href });
      }
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = () => resolve({ problem: "Python did not load. Pages opened from a file cannot load Python; use the command instead." });
      worker.postMessage(message);
    });
  },

  place: document.currentScript.src,

  paragraph(text, className = "") {
    return Object.assign(document.createElement("p"), { textContent: text, className });
  },
};
