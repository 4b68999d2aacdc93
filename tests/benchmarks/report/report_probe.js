"use strict";
// Put at the top of a page under test: tells the frame around it what a reader would meet.
const complaints = [];
addEventListener("error", (event) => complaints.push(String(event.message || event.target.outerHTML)), true);
console.error = (...words) => complaints.push(words.join(" "));
addEventListener("load", () => {
  const table = document.querySelector("#claims-overview");
  const column = (place) => [...table.tBodies[0].rows].map((row) => row.cells[place].textContent);
  const width = () => document.documentElement.scrollWidth;
  const found = { folded: width(), inner: innerWidth, before: column(0) };
  for (const details of document.querySelectorAll("details")) details.open = true;
  found.unfolded = width();
  found.figures = [...document.querySelectorAll("figure svg")].map((drawing) => {
    const box = drawing.getBoundingClientRect();
    return [box.width, box.height];
  });
  const buttons = table.tHead.querySelectorAll("th button");
  const click = (place) => {
    buttons[place].click();
    return [column(place), table.tHead.rows[0].cells[place].getAttribute("aria-sort")];
  };
  found.verdicts = [click(3), click(3)];
  found.numbers = [click(0), click(0)];
  const wanted = document.getElementById("wanted"), hits = document.getElementById("hits");
  const search = (text) => {
    wanted.value = text;
    wanted.dispatchEvent(new Event("input"));
    return [...hits.querySelectorAll("a")].map((link) => link.getAttribute("href"));
  };
  found.hits = { claim: search("constant COMPETITIVE ratio"), method: search("expected-greedy"), nothing: search("zebra crossing") };
  found.told = hits.textContent;
  for (const details of document.querySelectorAll("details")) details.open = false;
  search("constant competitive ratio");
  hits.querySelector("a").click();
  found.bar = document.querySelector(".bar").getBoundingClientRect().top;
  found.ground = getComputedStyle(document.body).backgroundColor;
  found.ink = getComputedStyle(document.body).color;
  found.marks = [...new Set([...document.querySelectorAll(".ruling")].map((ruling) => getComputedStyle(ruling, "::before").color))];
  found.buttons = document.querySelectorAll("th button").length;
  found.headings = document.querySelectorAll("table.sortable thead th").length;
  setTimeout(() => {
    found.opened = [...document.querySelectorAll("details[open]")].map((details) => details.id);
    found.complaints = complaints;
    parent.postMessage(JSON.stringify(found), "*");
  }, 50);
});
