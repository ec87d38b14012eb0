// Keyboard shortcuts; the page also works without this script.
"use strict";
let leaving = false; // a verdict was submitted: ignore keys until the next page

document.addEventListener("submit", (event) => {
  if (leaving) event.preventDefault();
  leaving = true;
});
window.addEventListener("pageshow", () => { leaving = false; });

// After a refusal without a reason, the first reason sends it; another needs a note.
document.addEventListener("change", (event) => {
  if (event.target.closest("[data-sends]") && event.target.value !== "other") document.querySelector(".refuse").click();
});

document.addEventListener("keydown", (event) => {
  const target = event.target instanceof Element ? event.target : document.body;
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing || leaving) return;
  if (target.closest("textarea")) {
    if (event.key === "Escape") target.blur();
    return;
  }
  if (event.key === "Enter" && target.closest("a, button, summary")) return;
  const pressed = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (pressed === null) return;
  event.preventDefault();
  if (pressed.tagName === "TEXTAREA") pressed.focus();
  else pressed.click();
});
