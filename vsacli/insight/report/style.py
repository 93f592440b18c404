"""The page's style sheet and the few lines that show a row under the pointer."""

from __future__ import annotations

_LIGHT = (
    "#1f6fb4", "#c8501e", "#23855b", "#8a4fb0", "#a8770a", "#c23a70",
    "#0f7f8c", "#6b6f1c", "#5a5fd0", "#8c4a2f", "#4c6a80", "#777777",
)  # fmt: skip
_DARK = (
    "#6db3f2", "#f39a6b", "#5fcf9c", "#c79aec", "#e5bb4a", "#f28bb4",
    "#58cbd9", "#bdc257", "#a3a7ff", "#d59a7f", "#9dbcd3", "#b5b5b5",
)  # fmt: skip
_STEPS = (
    "#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#a5d630", "#e3d21a",
)  # fmt: skip
_STEPS_DARK = (
    "#7d5fb2", "#6a73c4", "#5687c4", "#4a9cc0", "#3fb2b0", "#4cc792", "#7bd86c", "#b9e24a", "#f4e54d",
)  # fmt: skip


def _colours(groups: tuple[str, ...], steps: tuple[str, ...]) -> str:
    return "".join(f"--g{i}:{c};" for i, c in enumerate(groups)) + "".join(f"--s{i}:{c};" for i, c in enumerate(steps))


_LIGHT_ALL = (
    "--ink:#1b1f24;--soft:#57606a;--line:#d8dee4;--page:#f6f8fa;--card:#fff;--bar:#1f6fb4;--pale:#9cc4e8;"
    "--ring:#b3261e;" + _colours(_LIGHT, _STEPS)
)
_DARK_ALL = (
    "--ink:#e6edf3;--soft:#9aa4ae;--line:#343b44;--page:#0d1117;--card:#161b22;--bar:#6db3f2;--pale:#2f5b85;"
    "--ring:#ff8f85;" + _colours(_DARK, _STEPS_DARK)
)

STYLE = (
    f":root{{color-scheme:light dark;{_LIGHT_ALL}}}"
    f"@media screen and (prefers-color-scheme:dark){{:root{{{_DARK_ALL}}}}}"
    """
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:62rem;margin:0 auto;padding:2rem 1rem 3rem}
h1{font-size:1.7rem;line-height:1.25;margin:0 0 .4rem;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:0 0 .3rem}
p{margin:.3rem 0 .8rem;max-width:46rem}
.lead{font-size:1.1rem}
.soft,caption{color:var(--soft);font-size:.9rem}
section{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:1.1rem 1.3rem;margin:1rem 0}
svg[role=img]{display:block;width:100%;min-width:26rem;height:auto;margin:.4rem 0}
svg text{fill:var(--ink);font:12px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
svg text.small{fill:var(--soft);font-size:11px;font-variant-numeric:tabular-nums}
.grid{stroke:var(--line)}.axis{stroke:var(--soft)}
.b0{fill:var(--card);stroke:var(--bar);stroke-width:1.2}.b1{fill:var(--bar)}
.outline{fill:none;stroke:var(--ink);stroke-width:1.6}
.key{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;list-style:none;padding:0;margin:.5rem 0;font-size:.9rem}
.key li{display:flex;align-items:center;gap:.4rem;max-width:100%;overflow-wrap:anywhere}
.key svg{flex:none}
.swatch{width:14px;height:10px}
use.filled,path.filled,circle.filled{fill-opacity:.75;stroke:none}
.b2{fill:var(--line)}.given{stroke:var(--ink);stroke-width:1.1}
.next circle{fill:none;stroke:var(--ring);stroke-width:1.8}
.next text{fill:var(--ink);font-weight:700;font-size:12px;paint-order:stroke;stroke:var(--card);stroke-width:3px}
#map{border:1px solid var(--line);border-radius:.4rem}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.9rem}
caption{text-align:left;padding-bottom:.3rem}
th,td{padding:.28rem 1rem .28rem 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
th{font-weight:600;max-width:9rem;overflow-wrap:normal;word-break:keep-all;vertical-align:bottom}
td{max-width:15rem;overflow-wrap:break-word}
td.n,th.n{text-align:right}td.n{white-space:nowrap;font-variant-numeric:tabular-nums}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:0;font-size:.9rem}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
code{font:.9em ui-monospace,SFMono-Regular,Menlo,monospace;overflow-wrap:anywhere}
details{margin-top:.6rem;font-size:.9rem}summary{cursor:pointer;color:var(--soft)}
#hover{position:fixed;z-index:1;max-width:22rem;padding:.5rem .7rem;background:var(--card);color:var(--ink);
border:1px solid var(--soft);border-radius:.4rem;font-size:.85rem;line-height:1.35;pointer-events:none;
overflow-wrap:anywhere;
box-shadow:0 2px 10px #0004}
#hover[hidden]{display:none}
footer{color:var(--soft);font-size:.85rem}
@media print{
@page{margin:14mm}
body{background:#fff;font-size:11pt}main{max-width:none;padding:0}
section{border:0;border-top:1px solid var(--line);border-radius:0;padding:.8rem 0;margin:.6rem 0}
svg,tr,.whole{break-inside:avoid}h2,caption{break-after:avoid}
.scroll{overflow:visible}svg[role=img]{min-width:0}table{font-size:8.5pt}th,td{padding-right:.5rem}td:not(.n){overflow-wrap:anywhere}
#hover,details,.pointing{display:none}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
}
"""
    + "".join(f".g{i}{{fill:var(--g{i})}}" for i in range(len(_LIGHT)))
    + "".join(f".s{i}{{fill:var(--s{i})}}" for i in range(len(_STEPS)))
)

SCRIPT = """
(() => {
  const told = JSON.parse(document.getElementById("told").textContent);
  const map = document.getElementById("map"), hover = document.getElementById("hover");
  if (!map) return;
  map.addEventListener("pointermove", (event) => {
    const point = event.target.closest("[data-i]");
    hover.hidden = !point;
    if (!point) return;
    hover.replaceChildren(...told[point.dataset.i].map((line, i) => {
      const part = document.createElement(i ? "div" : "strong");
      part.textContent = line;
      return part;
    }));
    const x = event.clientX + 14, y = event.clientY + 14;
    hover.style.left = Math.max(0, Math.min(x, innerWidth - hover.offsetWidth - 8)) + "px";
    hover.style.top = Math.max(0, Math.min(y, innerHeight - hover.offsetHeight - 8)) + "px";
  });
  map.addEventListener("pointerleave", () => { hover.hidden = true; });
})();
"""
