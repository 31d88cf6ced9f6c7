"""The look of the report: two columns at most, one on a phone, light and dark."""

STYLE = """
:root {
  --ground: #fbfaf7; --card: #ffffff; --ink: #1d2327; --faint: #626b72;
  --rule: #dcdfe0; --paper: #f0efea; --a: #2f6f9f; --b: #e0963a;
  --aold: #b4c9d8; --bold: #f0d3ab;
  --limb0: #4c5661; --limb1: #2f6f9f; --limb2: #d9822b; --limb3: #3c8d5f;
  --limb4: #b0487a; --limb5: #7a5fb5; --limb6: #8a7a2e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #15191c; --card: #1d2327; --ink: #e8e6e1; --faint: #9ba5ac;
    --rule: #333b41; --paper: #262d32; --a: #6aaede; --b: #eead5c;
    --aold: #34546a; --bold: #6b5433;
    --limb0: #a9b2ba; --limb1: #6aaede; --limb2: #eea355; --limb3: #6cc08f;
    --limb4: #e07fad; --limb5: #ab93e3; --limb6: #c9b85c;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif;
}
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 0 0 0.9rem; }
header > p { max-width: 44rem; }
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
  display: grid; gap: 1.2rem; margin-bottom: 1rem;
  grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr));
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
table { border-collapse: collapse; min-width: 100%; }
table { font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 0.3rem 0 0.3rem 1.1rem; white-space: nowrap; }
th { color: var(--faint); font-weight: 500; font-size: 0.9rem; }
td { border-top: 1px solid var(--rule); }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
td:first-child { white-space: normal; }
small { color: var(--faint); }
.legend i {
  display: inline-block; width: 0.8em; height: 0.8em; border-radius: 2px;
  margin: 0 0.35em 0 0.8em;
}
.legend i:first-child { margin-left: 0; }
.legend .a { background: var(--a); } .legend .b { background: var(--b); }
svg text { font-size: 12px; fill: var(--ink); white-space: pre; }
svg .faint { fill: var(--faint); } svg .strong { font-weight: 600; }
svg .number { font-variant-numeric: tabular-nums; }
.a { fill: var(--a); } .b { fill: var(--b); }
.aold { fill: var(--aold); } .bold { fill: var(--bold); }
.paper { fill: var(--paper); }
.line { fill: none; stroke: var(--rule); stroke-width: 1.5; }
.grid { stroke: var(--rule); stroke-width: 1; fill: none; }
.curve { fill: none; stroke-width: 2; }
.mark { fill: var(--ink); stroke: var(--card); stroke-width: 1.5; }
.limb0 { fill: var(--limb0); } .limb1 { fill: var(--limb1); }
.limb2 { fill: var(--limb2); } .limb3 { fill: var(--limb3); }
.limb4 { fill: var(--limb4); } .limb5 { fill: var(--limb5); }
.limb6 { fill: var(--limb6); }
.limb1line { stroke: var(--limb1); } .limb2line { stroke: var(--limb2); }
.limb3line { stroke: var(--limb3); } .limb4line { stroke: var(--limb4); }
svg .limb1text { fill: var(--limb1); } svg .limb2text { fill: var(--limb2); }
svg .limb3text { fill: var(--limb3); } svg .limb4text { fill: var(--limb4); }
"""
