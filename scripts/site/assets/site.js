"use strict";

// The raw Markdown of a page, which stands beside it, is copied.
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

// A table that is wider than its page is scrolled with the keyboard too. The theme wraps tables while the page loads.
const reach = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
addEventListener("load", () => {
  document.querySelectorAll(".md-typeset__scrollwrap").forEach((wrap) => reach.observe(wrap));
});
