"use strict";

// Copies the raw Markdown of the page, which is in the same folder.
document.querySelectorAll("[data-copy]").forEach((button) => {
  button.addEventListener("click", async () => {
    try {
      const response = await fetch(button.dataset.copy);
      if (!response.ok) throw new Error(`${response.status}`);
      await navigator.clipboard.writeText(await response.text());
      button.textContent = "Copied";
    } catch {
      // Without a server or without access to the clipboard, open the raw Markdown instead of copying it.
      location.assign(button.dataset.copy);
    }
  });
});

// Makes tables that are wider than the page scrollable with the keyboard, and labels them as scrollable. The theme wraps tables while the page loads,
// so observe them only after the page has loaded.
const wrapObserver = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const scrolls = target.scrollWidth > target.clientWidth;
    target.classList.toggle("scrolls", scrolls);
    if (scrolls) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
addEventListener("load", () => {
  // A long constant of the API scrolls within its box.
  document.querySelectorAll(".doc-attribute pre > code").forEach((code) => {
    if (code.scrollHeight > code.clientHeight) code.tabIndex = 0;
  });
  document.querySelectorAll(".md-typeset__scrollwrap").forEach((wrap) => wrapObserver.observe(wrap));
});
