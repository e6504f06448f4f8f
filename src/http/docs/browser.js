// Runs in the reader's browser, on the pages of the API reference: sends what is tried out to the service that served the page.

/** The request that a form describes. Empty fields are left out. */
function requestOf(form) {
  const { method, path } = form.dataset;
  const headers = {};
  const query = new URLSearchParams();
  let where = path;
  for (const [name, value] of new FormData(form)) {
    if (value === "") continue;
    if (name === "key") headers.Authorization = `Bearer ${value}`;
    if (name.startsWith("header:")) headers[name.slice(7)] = value;
    if (name.startsWith("query:")) query.append(name.slice(6), value);
    if (name.startsWith("path:")) where = where.replace(`{${name.slice(5)}}`, encodeURIComponent(value));
  }
  const body = form.elements.body?.value;
  if (body) headers["Content-Type"] = "application/json";
  return { url: query.size > 0 ? `${where}?${query}` : where, init: { method, headers, body: body || undefined } };
}

/** A JSON answer is indented; another one is shown as it is, cut after 20,000 characters. */
function readable(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text.slice(0, 20_000);
  }
}

/** Fills an element with the status line and the body of an answer. */
function show(place, status, text) {
  const line = document.createElement("p");
  line.textContent = status;
  const body = document.createElement("pre");
  body.tabIndex = 0;
  body.textContent = text;
  place.replaceChildren(line, body);
}

async function tryOut(event) {
  event.preventDefault();
  const form = event.currentTarget;
  const place = form.parentElement.querySelector(".answer");
  const { url, init } = requestOf(form);
  try {
    const answer = await fetch(url, { ...init, credentials: "omit" });
    show(place, `${answer.status} ${answer.statusText}`, readable(await answer.text()));
  } catch (error) {
    show(place, "No answer", String(error));
  }
}

for (const details of document.querySelectorAll("details.try")) {
  details.hidden = false;
  const form = details.querySelector("form");
  form.addEventListener("submit", tryOut);
  // A key that was typed once is there in every form of the page.
  form.elements.key?.addEventListener("change", ({ target }) => {
    for (const other of document.querySelectorAll("details.try input[name=key]")) other.value = target.value;
  });
}
