"""The style sheet of a report: light and dark, for screens, phones and paper."""

from __future__ import annotations

__all__ = ["CHECK_STYLE", "STYLE"]

STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#59636e;--line:#d6dbe1;--page:#fff;
--box:#f5f7f9;--mark:#0b62c4;--warn:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#e4e8ec;--soft:#9aa5b1;--line:#39424d;
--page:#14181d;--box:#1d232a;--mark:#6cb0ff;--warn:#ff9d94}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:52rem;margin:0 auto;padding:1.5rem 1rem 4rem}
h1{font-size:1.7rem;line-height:1.2;margin:.5rem 0 1rem}
h2{font-size:1.2rem;margin:2.2rem 0 .6rem;padding-bottom:.25rem;
border-bottom:1px solid var(--line)}
h1+section{background:var(--box);border:1px solid var(--line);border-radius:8px;
padding:.6rem 1rem}
h1+section h2{margin:0;border:0}
h1+section dt{color:var(--ink)}
data[data-as=verdict]{font-weight:700}
data[data-path="/mark"]{font-weight:700;color:var(--warn)}
h3{font-size:1rem;margin:1.4rem 0 .3rem}
h3,p,dd,td,div{overflow-wrap:anywhere}
p{margin:.5rem 0}
dl{display:grid;grid-template-columns:minmax(8rem,14rem) minmax(0,1fr);gap:.25rem 1rem;
margin:.4rem 0}
dt{color:var(--soft);overflow-wrap:anywhere}
dd{margin:0;min-width:0}
.wide{overflow-x:auto}

table{border-collapse:collapse;width:100%;font-size:.92rem}
th,td{text-align:left;vertical-align:top;padding:.3rem .8rem .3rem 0;
border-bottom:1px solid var(--line)}
th{color:var(--soft);font-weight:500}
data{unicode-bidi:isolate;font-variant-numeric:tabular-nums}
data[data-event]::after{content:" " attr(data-event);font:500 .68em/1 system-ui,sans-serif;
color:var(--soft);vertical-align:super;margin-left:.1em}
data[value=erased]{color:var(--soft);font-style:italic}
dt data::after,figcaption data::after,h3 data::after{display:none}
data[data-as=block]{display:block;white-space:pre-wrap;overflow-wrap:anywhere;
background:var(--box);border:1px solid var(--line);border-radius:6px;
padding:.6rem .8rem;font:13.5px/1.45 ui-monospace,Menlo,Consolas,monospace}
figure{margin:1rem 0;max-width:36rem}
figure div{font-size:.9rem;margin-top:.4rem}
svg{display:block;width:100%;height:auto}
line{stroke:var(--line)}
.full{stroke:var(--soft)}
.dashed{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:3 2}
.span{stroke:var(--mark);stroke-width:3}
circle{fill:var(--mark);fill-opacity:.6;stroke:var(--page)}
figcaption{display:flex;justify-content:space-between;color:var(--soft);font-size:.85rem}
@media(max-width:40rem){dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}
table{min-width:44rem}}
@media print{:root{--ink:#000;--soft:#444;--line:#bbb;--page:#fff;--box:#fff;--mark:#000;--warn:#000}
body{font-size:10.5pt}main{max-width:none;padding:0}h2,h3{break-after:avoid}
figure,tr{break-inside:avoid}.wide{overflow:visible}}
"""
CHECK_STYLE = """
aside{max-width:52rem;margin:1rem auto 0;padding:.6rem 1rem;border:1px solid var(--line);
border-radius:6px;background:var(--box);font-size:.92rem}
#said{font-weight:600;overflow-wrap:anywhere}
#said[data-code="1"]{color:var(--warn)}
aside input{font:inherit;max-width:100%;padding:.25rem .4rem;color:inherit;
background:var(--page);border:1px solid var(--soft);border-radius:4px}
aside button{font:inherit;padding:.25rem .8rem;color:var(--page);background:var(--mark);
border:0;border-radius:4px}
@media print{aside{display:none}}
"""
"""For the part of a page that verifies the evidence that the page carries."""
