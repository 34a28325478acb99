// Requests the search index only when the search box receives the focus, because the index is as large as a page.
// The theme has no setting for this, so its request for the index is held back. No other request is changed, and
// XMLHttpRequest is restored as soon as the theme has prepared this request.
"use strict";
(() => {
  // A search by address (`?q=`) needs the index at once.
  if (new URLSearchParams(location.search).has("q")) return;
  const { open, send } = XMLHttpRequest.prototype;
  XMLHttpRequest.prototype.open = function (method, url, ...rest) {
    open.call(this, method, url, ...rest);
    if (!String(url).endsWith("/search/search_index.json")) return;
    XMLHttpRequest.prototype.open = open;
    this.send = () => {
      const start = (event) => {
        if (!event.target.matches("[data-md-component=search-query]")) return;
        removeEventListener("focusin", start);
        send.call(this);
      };
      addEventListener("focusin", start);
    };
  };
})();
