
// The page of a run that goes on follows the run: a newer page takes the place of this one.
(() => {
  "use strict";
  const root = document.documentElement;

  // Changes what is another now and leaves the rest: what was opened, marked or scrolled stays.
  const title = (node) => node.querySelector?.(":scope > h2")?.textContent ?? "";
  const key = (node) => `${node.nodeName} ${node.dataset?.timeline ?? (node.id || title(node))}`;
  const isOfScript = (node) => node.matches?.(".live .timeline .picture, .reading");
  const renew = (old, fresh) => {
    if (isOfScript(old) || old.isEqualNode(fresh)) return;
    if (!fresh.attributes) {
      old.nodeValue = fresh.nodeValue;
      return;
    }
    for (const { name, value } of fresh.attributes) old.setAttribute(name, value);
    for (const { name } of [...old.attributes]) {
      if (name !== "open" && !fresh.hasAttribute(name)) old.removeAttribute(name);
    }
    let place = old.firstChild;
    for (const next of [...fresh.childNodes]) {
      let same = place;
      while (same && key(same) !== key(next)) same = same.nextSibling;
      if (same && same === place) place = place.nextSibling;
      else old.insertBefore(same ?? next, place);
      if (same) renew(same, next);
    }
    while (place) {
      const rest = place.nextSibling;
      place.remove();
      place = rest;
    }
  };
  const take = (page) => {
    document.title = page.title;
    root.dataset.version = page.documentElement.dataset.version;
    for (const part of ["header", "main"]) {
      renew(document.querySelector(part), page.querySelector(part));
    }
    showData(page.getElementById("data").textContent);
  };

  // The server says its newest version every 3 s, and when there is another one.
  const SILENCE_MS = 9_000;
  const RETRY_MS = 2_000;
  const connection = document.getElementById("connection");
  const say = (text) => {
    connection.textContent = text;
    connection.hidden = !text;
  };
  const lost = () => {
    const at = document.querySelector("header time")?.textContent;
    say(`No connection to the coordinator: this is how it was at ${at}. Trying again.`);
  };
  let wanted = root.dataset.version;
  const fetchNewest = async () => {
    while (wanted !== root.dataset.version) {
      const asked = wanted;
      const answer = await fetch("./", { cache: "no-store" });
      if (!answer.ok) throw new Error(answer.statusText);
      take(new DOMParser().parseFromString(await answer.text(), "text/html"));
      if (wanted === asked) break; // what came is as new as that, or newer
    }
  };
  let fetching = null;
  const refresh = () => {
    fetching ??= fetchNewest()
      .catch(lost)
      .finally(() => (fetching = null));
    return fetching;
  };

  let source;
  let timer;
  const again = (ms) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      lost();
      follow();
    }, ms);
  };
  const follow = () => {
    source?.close();
    source = new EventSource("events");
    source.onmessage = (event) => {
      say("");
      again(SILENCE_MS);
      wanted = event.data;
      refresh();
    };
    source.addEventListener("over", async (event) => {
      clearTimeout(timer);
      wanted = event.data;
      await refresh();
      source.close(); // the coordinator waits for this
      say("The coordinator has ended. This page stays in report.html of the run's folder.");
    });
    source.onerror = () => {
      source.close();
      lost();
      again(RETRY_MS);
    };
    again(SILENCE_MS);
  };
  follow();
})();
