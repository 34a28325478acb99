// Checks a text with the linter itself, in a worker that the first press of the button starts.
"use strict";
(() => {
  const form = document.getElementById("playground");
  const button = form.querySelector("button");
  const output = document.getElementById("playground-findings");
  const script = new URL("playground_worker.mjs", document.currentScript.src);
  let worker = null;

  function start() {
    worker = new Worker(script, { type: "module" });
    worker.postMessage({ base: new URL(form.dataset.base, location.href).href });
    worker.onmessage = ({ data }) => { show(data); button.disabled = false; };
    worker.onerror = () => { say("The linter did not load. A page that was opened from a file cannot load it; use the command."); };
  }

  function say(text) {
    output.replaceChildren(Object.assign(document.createElement("p"), { textContent: text }));
  }

  function show({ findings, problem }) {
    if (problem) return say(problem);
    if (!findings.length) return say("No finding. The linter reports only what it recognizes.");
    output.replaceChildren(...findings.map(describe));
  }

  function describe({ line, column, severity, rule, message, fix }) {
    const item = document.createElement("div");
    item.className = "finding";
    const link = Object.assign(document.createElement("a"), { href: `lint_rules/${rule}.html`, textContent: rule });
    const first = document.createElement("p");
    first.append(`${line}:${column}: ${severity}: `, link, `: ${message}`);
    item.append(first, Object.assign(document.createElement("p"), { textContent: fix }));
    return item;
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    button.disabled = true;
    if (!worker) { say("Loading Python and the linter ..."); start(); }
    const value = (name) => document.getElementById(`playground-${name}`).value;
    worker.postMessage({ name: value("kind"), text: value("text"), engine: value("engine") });
  });
})();
