"""The colours and lines of a picture, light and dark, for one picture on a page of many.

Rule: each selector begins with the id of the picture, so that it does not change the page
around it. Texts have a contrast of 4.5 to 1 at least, in both schemes.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["STATUS_MARKS", "css_of"]

STATUS_MARKS: Mapping[str, tuple[str, str]] = {
    "": ("absent", "○"),
    "completed": ("good", "✓"),
    "success": ("good", "✓"),
    "passed": ("good", "✓"),
    "verified": ("good", "✓"),
    "approved": ("good", "✓"),
    "failed": ("bad", "✗"),
    "error": ("bad", "✗"),
    "denied": ("bad", "✗"),
    "refused": ("bad", "✗"),
    "running": ("busy", "▸"),
    "started": ("busy", "▸"),
    "retrying": ("busy", "▸"),
    "paused": ("busy", "‖"),
    "waiting": ("busy", "‖"),
    "canceled": ("absent", "\N{EN DASH}"),
    "cancelled": ("absent", "\N{EN DASH}"),
    "skipped": ("absent", "\N{EN DASH}"),
    "dead": ("absent", "\N{EN DASH}"),
}
"""Status → the class of its node, and the sign before the word."""

_STYLE = """
#@{--ground:#fff;--ink:#1b1f24;--soft:#59636e;--line:#8c959f;--box:#f5f7f9;--rim:#aab4be;
--mark:#0b62c4;--good:#146c2e;--goodbox:#edf8f0;--bad:#b3261e;--badbox:#fdf0ef;
--busy:#8a5300;--busybox:#fdf6e8;max-width:100%;height:auto;
font:13px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
@media(prefers-color-scheme:dark){#@{--ground:#14181d;--ink:#e4e8ec;--soft:#9aa5b1;
--line:#78838f;--box:#1d232a;--rim:#4d5763;--mark:#6cb0ff;--good:#7ddc98;--goodbox:#14251b;
--bad:#ff9d94;--badbox:#2d1a1a;--busy:#f0c069;--busybox:#2a2214}}
#@ .ground{fill:var(--ground)}
#@ text{fill:var(--ink);text-anchor:middle}
#@ .shape{fill:var(--box);stroke:var(--rim);stroke-width:1.3}
#@ .inner{fill:none;stroke:var(--rim)}
#@ .bar{fill:var(--soft)}
#@ .name{font-weight:600}
#@ .kind,#@ .status,#@ .label{font-size:11px}
#@ .kind{fill:var(--soft)}
#@ .label{fill:var(--soft);stroke:var(--ground);stroke-width:5px;stroke-linejoin:round;
paint-order:stroke}
#@ .start{fill:var(--ink)}
#@ .edge{fill:none;stroke:var(--line);stroke-width:1.5}
#@ .back{stroke:var(--mark);stroke-dasharray:5 4}
#@ .unused{opacity:.45}
#@ .tip{fill:var(--line)}
#@ .tipback{fill:var(--mark)}
#@ .good .shape{fill:var(--goodbox);stroke:var(--good)}
#@ .good .status{fill:var(--good)}
#@ .bad .shape{fill:var(--badbox);stroke:var(--bad);stroke-width:2}
#@ .bad .status{fill:var(--bad);font-weight:600}
#@ .busy .shape{fill:var(--busybox);stroke:var(--busy)}
#@ .busy .status{fill:var(--busy)}
#@ .absent .shape{fill:var(--ground);stroke-dasharray:3 3}
#@ .absent .name,#@ .absent .status{fill:var(--soft);font-weight:400}
@media(forced-colors:active){#@ .shape,#@ .ground{fill:Canvas}#@ .shape,#@ .edge{
stroke:CanvasText}#@ text{fill:CanvasText}#@ .label{stroke:Canvas}}
"""


def css_of(name: str) -> str:
    """Return the style sheet of the picture with the id *name*."""
    return _STYLE.replace("@media", "\x00").replace("@", name).replace("\x00", "@media")
