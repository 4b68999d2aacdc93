(function () {
  "use strict";
  var slides = Array.prototype.slice.call(document.querySelectorAll(".slide"));
  var now = 0;

  function fit() {
    var scale = Math.min(window.innerWidth / 1280, window.innerHeight / 720);
    slides.forEach(function (slide) {
      slide.style.transform = "scale(" + scale + ")";
      slide.style.left = (window.innerWidth - 1280 * scale) / 2 + "px";
      slide.style.top = (window.innerHeight - 720 * scale) / 2 + "px";
    });
  }

  function show(number) {
    now = Math.max(0, Math.min(slides.length - 1, number));
    slides.forEach(function (slide, index) { slide.classList.toggle("now", index === now); });
    history.replaceState(null, "", "#" + (now + 1));
  }

  function later() { return slides[now].querySelectorAll(".later"); }

  function onward() {
    var hidden = later();
    if (!hidden.length) { show(now + 1); }
    Array.prototype.forEach.call(hidden, function (output) { output.classList.remove("later"); });
  }

  function named() { return (parseInt(location.hash.slice(1), 10) || 1) - 1; }

  document.addEventListener("keydown", function (event) {
    if (event.altKey || event.ctrlKey || event.metaKey || /INPUT|BUTTON/.test(event.target.tagName)) { return; }
    if (["ArrowRight", "ArrowDown", "PageDown", " "].indexOf(event.key) >= 0) { event.preventDefault(); onward(); }
    var to = { ArrowLeft: now - 1, ArrowUp: now - 1, PageUp: now - 1, Home: 0, End: slides.length - 1 }[event.key];
    if (to !== undefined) { event.preventDefault(); show(to); }
  });
  document.getElementById("before").addEventListener("click", function () { show(now - 1); this.blur(); });
  document.getElementById("after").addEventListener("click", function () { onward(); this.blur(); });
  window.addEventListener("resize", fit);
  window.addEventListener("hashchange", function () { show(named()); });
  Array.prototype.forEach.call(document.querySelectorAll(".slide pre.output"), function (output) {
    output.classList.add("later");  // the audience is asked before the program answers
  });
  document.body.classList.add("one");
  document.querySelector("nav").hidden = false;
  fit();
  show(named());
})();
