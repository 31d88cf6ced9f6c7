"""The style of the report: two columns at most, one on a phone, light and dark."""

STYLE = """
:root {
  --ground: #fbfaf7; --card: #ffffff; --ink: #1d2327; --faint: #626b72;
  --rule: #dcdfe0; --paper: #f0efea; --a: #2f6f9f; --b: #e0963a;
  --aold: #b4c9d8; --bold: #f0d3ab;
  --limb0: #4c5661; --limb1: #2f6f9f; --limb2: #d9822b; --limb3: #3c8d5f;
  --limb4: #b0487a; --limb5: #7a5fb5; --limb6: #8a7a2e; --limb7: #1f9aa8;
  --limb8: #c2553f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #15191c; --card: #1d2327; --ink: #e8e6e1; --faint: #9ba5ac;
    --rule: #333b41; --paper: #262d32; --a: #6aaede; --b: #eead5c;
    --aold: #34546a; --bold: #6b5433;
    --limb0: #a9b2ba; --limb1: #6aaede; --limb2: #eea355; --limb3: #6cc08f;
    --limb4: #e07fad; --limb5: #ab93e3; --limb6: #c9b85c; --limb7: #5cc4d1;
    --limb8: #ea8a76;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif;
}
main { max-width: 86rem; margin: 0 auto; padding: 1.5rem 1.2rem 3rem; }
.columns section { break-inside: avoid; display: inline-block; width: 100%; }
@media (min-width: 60rem) { .columns { columns: 2; column-gap: 1.1rem; } }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0; overflow-wrap: anywhere; }
p { overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 0 0 0.9rem; }
header > p { max-width: 60rem; }
section {
  background: var(--card); border: 1px solid var(--rule); border-radius: 10px;
  padding: 1.1rem 1.2rem; margin-top: 1.1rem;
}
.facts {
  list-style: none; padding: 0; margin: 1rem 0; display: grid; gap: 0.7rem;
  grid-template-columns: repeat(auto-fit, minmax(8.2rem, 1fr));
}
@media (max-width: 40rem) { .facts { grid-template-columns: 1fr 1fr; } }
.facts li {
  background: var(--card); border: 1px solid var(--rule); border-radius: 10px;
  padding: 0.7rem 0.9rem; color: var(--faint); font-size: 0.9rem;
}
.facts b { display: block; font-size: 1.6rem; line-height: 1.3; color: var(--ink); }
.three {
  display: grid; gap: 0.9rem; margin-bottom: 1rem;
  grid-template-columns: repeat(3, minmax(0, 1fr));
}
.two {
  display: grid; gap: 1.2rem;
  grid-template-columns: repeat(auto-fit, minmax(16rem, 1fr));
}
figure { margin: 0; }
h3 { font-size: 1rem; font-weight: 500; margin: 0 0 0.7rem; }
figcaption, .note, footer, .legend { color: var(--faint); font-size: 0.9rem; }
.note { margin: 0.8rem 0 0; max-width: 46rem; }
footer { margin-top: 1.5rem; }
svg { display: block; width: 100%; height: auto; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
table { font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 0.3rem 0 0.3rem 1rem; vertical-align: bottom; }
th { color: var(--faint); font-weight: 500; font-size: 0.9rem; }
td { border-top: 1px solid var(--rule); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
td:first-child { white-space: normal; overflow-wrap: break-word; }
@media (max-width: 40rem) {
  section { padding: 0.9rem; }
  table { font-size: 0.85rem; }
  th, td { padding-left: 0.5rem; }
  td small { display: block; }
}
.tree { font-size: 0.88rem; }
.tree ul { list-style: none; margin: 0; padding: 0; }
.tree ul ul { margin-left: 0.28rem; padding-left: 0.5rem; }
.tree ul ul { border-left: 1px solid var(--rule); }
.tree li > div { display: flex; align-items: baseline; gap: 0.45rem; }
.tree i { flex: none; width: 0.6rem; height: 0.6rem; border-radius: 50%; }
.tree span { flex: 1; min-width: 0; }
.tree small { text-align: right; font-size: 0.78rem; }
@media (max-width: 40rem) {
  .tree { font-size: 0.78rem; }
  .tree ul ul { margin-left: 0.2rem; padding-left: 0.3rem; }
  .tree small { max-width: 6.8rem; line-height: 1.2; }
}
.bar { display: grid; grid-template-columns: 1fr auto; gap: 0 0.8rem; }
.bar { margin-bottom: 0.55rem; font-size: 0.9rem; }
.bar b { font-weight: 400; font-variant-numeric: tabular-nums; }
.bar div { grid-column: 1 / -1; display: flex; gap: 1px; height: 0.75rem; }
.bar i { border-radius: 2px; }
small { color: var(--faint); }
.legend span { display: inline-block; margin-right: 1rem; }
.legend i {
  display: inline-block; width: 0.8em; height: 0.8em; border-radius: 2px;
  margin-right: 0.4em;
}
svg text { font-size: 12px; fill: var(--ink); white-space: pre; }
svg .faint { fill: var(--faint); } svg .strong { font-weight: 600; }
svg .number { font-variant-numeric: tabular-nums; }
.a { background: var(--a); } .b { background: var(--b); }
.aold { background: var(--aold); } .bold { background: var(--bold); }
.paper { fill: var(--paper); }
.line { fill: none; stroke: var(--rule); stroke-width: 1.5; }
.grid { stroke: var(--rule); stroke-width: 1; fill: none; }
.curve { fill: none; stroke-width: 2; }
.mark { fill: var(--ink); stroke: var(--card); stroke-width: 1.5; }
.limb0 { fill: var(--limb0); background: var(--limb0); }
.limb1 { fill: var(--limb1); background: var(--limb1); }
.limb2 { fill: var(--limb2); background: var(--limb2); }
.limb3 { fill: var(--limb3); background: var(--limb3); }
.limb4 { fill: var(--limb4); background: var(--limb4); }
.limb5 { fill: var(--limb5); background: var(--limb5); }
.limb6 { fill: var(--limb6); background: var(--limb6); }
.limb7 { fill: var(--limb7); background: var(--limb7); }
.limb8 { fill: var(--limb8); background: var(--limb8); }
.limb1line { stroke: var(--limb1); }
.limb2line { stroke: var(--limb2); }
.limb3line { stroke: var(--limb3); }
.limb4line { stroke: var(--limb4); }
"""
