// Keyboard shortcuts; the page also works without this script.
"use strict";

const typing = (element) => element.closest("input, textarea, select, [contenteditable]") !== null;
let leaving = false; // a verdict was submitted; ignore keys until the next page

document.addEventListener("submit", (event) => {
  if (leaving) event.preventDefault();
  leaving = true;
});
window.addEventListener("pageshow", () => { leaving = false; });

document.addEventListener("keydown", (event) => {
  const target = event.target instanceof Element ? event.target : document.body;
  if (typing(target)) {
    if (event.key === "Escape") target.blur();
    if (event.key === "Enter" && event.ctrlKey && target.form) target.form.requestSubmit(target.form.querySelector("button"));
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing || leaving) return;
  // Enter activates the focused element.
  if (event.key === "Enter" && target.closest("a, button, summary")) return;
  const pressed = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (pressed === null) return;
  event.preventDefault();
  if (pressed.tagName !== "SUMMARY") {
    if (pressed.tagName === "A") leaving = true;
    pressed.click();
    return;
  }
  pressed.parentElement.open = true;
  pressed.parentElement.scrollIntoView({block: "nearest"});
  pressed.parentElement.querySelector("textarea").focus();
});
