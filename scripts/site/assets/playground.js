// Runs the linter in Python, which the page loads when the button is first pressed.
"use strict";
(() => {
  const form = document.getElementById("playground");
  const button = form.querySelector("button");
  const output = document.getElementById("playground-findings");
  const { paragraph } = window.rtmForms;
  const ask = window.rtmForms.python(form);

  function describe({ line, column, severity, rule, message, fix }) {
    const item = document.createElement("div");
    item.className = "finding";
    const link = Object.assign(document.createElement("a"), { href: `lint_rules/${rule}.html`, textContent: rule });
    const first = document.createElement("p");
    first.append(`${line}:${column}: ${severity}: `, link, `: ${message}`);
    item.append(first, paragraph(fix));
    return item;
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    output.replaceChildren(paragraph("Checking; the first time, Python is loaded ..."));
    const value = (name) => document.getElementById(`playground-${name}`).value;
    const { findings, problem } = await ask({ name: value("kind"), text: value("text"), engine: value("engine") });
    const none = paragraph(problem ?? "No finding. The linter reports only what it recognizes.");
    output.replaceChildren(...(findings?.length ? findings.map(describe) : [none]));
    button.disabled = false;
  });
})();
