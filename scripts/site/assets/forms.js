// An address that holds the numbers of a form.
"use strict";
window.rtmForms = {
  // Keeps the changed values of a form in the last part of the address, which no server sees, so a link shows a result.
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
};
