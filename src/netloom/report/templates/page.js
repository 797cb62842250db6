// Tells the numbers of the mark nearest to the pointer. Without this script browsers show the same
// titles by themselves, and every figure has a table.
(() => {
  const tip = document.body.appendChild(document.createElement("div"));
  tip.className = "tip";
  tip.hidden = true;
  let on = null;
  const hide = () => { tip.hidden = true; on?.classList.remove("on"); on = null; };
  const gap = (box, x, y) => Math.hypot(
    Math.max(box.left - x, 0, x - box.right), Math.max(box.top - y, 0, y - box.bottom));
  const show = (mark, x, y) => {
    hide();
    on = mark;
    mark.classList.add("on");
    tip.textContent = mark.dataset.tip;
    tip.hidden = false;
    const { offsetWidth: w, offsetHeight: h } = tip;
    tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - w - 4))}px`;
    tip.style.top = `${y > h + 18 ? y - h - 12 : y + 18}px`;
  };
  for (const chart of document.querySelectorAll("svg.chart")) {
    const marks = [...chart.querySelectorAll("title")].map((title) => {
      const mark = title.parentNode;
      mark.dataset.tip = title.textContent;
      title.remove();
      return mark;
    });
    const near = ({ clientX: x, clientY: y }) => {
      let best = null, least = 24;
      for (const mark of marks) {
        const distance = gap(mark.getBoundingClientRect(), x, y);
        if (distance < least) { best = mark; least = distance; }
      }
      if (best) show(best, x, y); else hide();
    };
    chart.addEventListener("pointermove", near);
    chart.addEventListener("pointerdown", near);
    chart.addEventListener("pointerleave", hide);
  }
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  addEventListener("scroll", hide, { passive: true });
  addEventListener("beforeprint", () => {
    for (const fold of document.querySelectorAll("details.fold")) fold.open = true;
  });
})();
