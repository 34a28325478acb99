// Copies the raw Markdown of a page, which stands beside it.
"use strict";
document.querySelectorAll("[data-copy]").forEach((button) => {
  button.addEventListener("click", async () => {
    try {
      const answer = await fetch(button.dataset.copy);
      if (!answer.ok) throw new Error(`${answer.status}`);
      await navigator.clipboard.writeText(await answer.text());
      button.textContent = "Copied";
    } catch {
      // Without a server, or where the clipboard is closed: show the text instead.
      location.assign(button.dataset.copy);
    }
  });
});
