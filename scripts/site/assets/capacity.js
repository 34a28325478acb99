// Runs the command `capacity` in Python, which the page loads when the button is first pressed.
"use strict";
(() => {
  const form = document.getElementById("capacity-form");
  const button = form.querySelector("button");
  const output = document.getElementById("capacity-estimate");
  const ask = window.rtmForms.python(form);
  const fields = [...form.querySelectorAll("input")];
  const command = () => ["capacity", ...fields.filter(({ value }) => value).flatMap(({ id, value }) => [`--${id}`, value])];

  window.rtmForms.share(form, () => {
    document.getElementById("capacity-command").textContent = `rtm ${command().join(" ")}`;
    output.textContent = "";
  });
  form.addEventListener("submit", async () => {
    button.disabled = true;
    output.textContent = "Estimating; the first time, Python is loaded ...";
    const answer = await ask({ command: command() });
    output.textContent = answer.problem ?? answer.output;
    button.disabled = false;
  });
})();
